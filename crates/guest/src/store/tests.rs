//! The cache: complete entries are found, incomplete ones are deleted.

use super::*;

fn store_with(releases: &[&str]) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    for release in releases {
        std::fs::create_dir_all(folder.path().join("kernels").join(release)).unwrap();
    }
    let store = Store::open(folder.path()).unwrap();
    (folder, store)
}

#[test]
fn the_best_kernel_in_the_cache_is_booted() {
    let (_folder, store) =
        store_with(&["7.2.12+deb13-amd64", "7.2.9+deb14-amd64", "7.2.13+deb14-cloud-amd64", "rubbish"]);
    let check = |wanted: &str, flavour, expected: Option<&str>| {
        let kernel = store.cached_kernel(wanted, flavour);
        assert_eq!(kernel.as_ref().map(|kernel| kernel.release.name()), expected, "{wanted}");
    };
    check("7.2", Flavour::Full, Some("7.2.9+deb14-amd64"));
    check("7.2", Flavour::Cloud, Some("7.2.13+deb14-cloud-amd64"));
    check("7.2.13", Flavour::Full, None);
    check("../../etc", Flavour::Full, None);
}

#[test]
fn what_was_left_half_made_goes_and_what_is_made_gets_its_name_at_once() {
    let (folder, store) = store_with(&[]);
    let left = folder.path().join(".part-left");
    std::fs::create_dir(&left).unwrap();
    let part = store.part().unwrap();
    assert!(!left.exists());
    std::fs::write(part.path().join("vmlinuz"), "image").unwrap();
    let place = store.place(Release::parse("7.2.13+deb14-amd64").unwrap());
    assert!(store.cached_kernel("7.2", Flavour::Full).is_none(), "before it is whole");
    keep(part, &place.folder).unwrap();
    let kernel = store.cached_kernel("7.2", Flavour::Full).unwrap();
    assert_eq!(std::fs::read(kernel.vmlinuz()).unwrap(), b"image");
}

#[test]
fn images_are_found_where_old_and_new_packages_have_them() {
    let release = Release::parse("7.2.13+deb14-cloud-amd64").unwrap();
    for image in ["boot/vmlinuz-7.2.13+deb14-cloud-amd64", "usr/lib/modules/7.2.13+deb14-cloud-amd64/vmlinuz"]
    {
        let (from, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = from.path().join(image);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "image").unwrap();
        gather(from.path(), &release, into.path()).unwrap();
        assert_eq!(std::fs::read(into.path().join("vmlinuz")).unwrap(), b"image", "{image}");
        let nothing = tempfile::tempdir().unwrap();
        let reported = gather(nothing.path(), &release, into.path()).unwrap_err().to_string();
        assert!(reported.contains("hold no kernel image"), "{reported}");
    }
}
