#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| keel_hostile::recipe(input));
