//! Generates the commands and options in docs/reference/cli.md from clap. `./x reference` regenerates the page.

use crate::args::Cli;
use clap::{Arg, Command, CommandFactory};

const PAGE: &str = include_str!("../../../docs/reference/cli.md");
const BEGIN: &str = "<!-- generated: ./x reference -->\n";
const END: &str = "<!-- end -->";

/// Set by `./x reference`: the test then writes the page instead of comparing it.
const RENEW: &str = "KEEL_RENEW_REFERENCE";

/// The maximum number of columns in a line.
const COLUMNS: usize = 100;

/// Returns the page with its generated part renewed from clap.
fn renewed(page: &str, cli: &mut Command) -> String {
    cli.build();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the commands");
    let (_, after) = rest.split_once(END).expect("that place ends");
    let commands = sections("", cli);
    format!("{before}{BEGIN}{commands}{END}{after}")
}

/// Describes all subcommands of a command, each followed by its own subcommands.
fn sections(above: &str, command: &Command) -> String {
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    let commands = commands.filter(|command| command.get_name() != "help");
    let named = commands.map(|command| (format!("{above}{}", command.get_name()), command));
    named.map(|(name, command)| section(&name, command) + &sections(&format!("{name} "), command)).collect()
}

/// Describes a command: what it does, its usage, arguments and options.
fn section(name: &str, command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let shown = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help";
    let (places, options): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(shown).partition(|arg| arg.is_positional());
    let mut text = format!("## `keel {name}`\n\n{}\n```text\n", filled(&about, ""));
    text += &format!("{}\n```\n\n", usage(command));
    places.into_iter().chain(options).for_each(|arg| text += &item(arg));
    text.push('\n');
    text
}

fn usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    usage.trim_start_matches("Usage: ").to_owned()
}

/// Describes an argument or option, as a list item.
fn item(arg: &Arg) -> String {
    let mut text =
        format!("{}: {}", written(arg), arg.get_help().map(ToString::to_string).unwrap_or_default());
    let is_flag = !arg.get_action().takes_values();
    let values: Vec<String> = match is_flag {
        true => Vec::new(),
        false => arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect(),
    };
    if !values.is_empty() {
        text += &format!(". One of {}", values.join(", "));
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| format!("`{}`", value.display())).collect();
    if !is_flag && !defaults.is_empty() {
        text += &format!(". Default: {}", defaults.join(", "));
    }
    filled(&format!("- {text}"), "  ")
}

/// Returns how it is written: `--machine M`, `-o, --output OUT`, `SCHED`.
fn written(arg: &Arg) -> String {
    let names: Vec<&str> =
        arg.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
    let value = names.join(" ");
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let name = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
    match (name.is_empty(), arg.get_action().takes_values()) {
        (true, _) => format!("`{value}`"),
        (false, false) => format!("`{name}`"),
        (false, true) => format!("`{name} {value}`"),
    }
}

/// Returns the text wrapped to [`COLUMNS`]; lines after the first begin with `indent`.
fn filled(text: &str, indent: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split_whitespace() {
        if line.chars().count() + word.chars().count() >= COLUMNS {
            lines += &line;
            lines.push('\n');
            line = format!("{indent}{word}");
        } else if line.is_empty() {
            line = word.to_owned();
        } else {
            line = format!("{line} {word}");
        }
    }
    lines + &line + "\n"
}

#[test]
fn the_page_is_as_clap_has_it() {
    let made = renewed(PAGE, &mut Cli::command());
    if std::env::var_os(RENEW).is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cli.md");
        std::fs::write(path, made).expect("the page can be written");
        return;
    }
    assert!(PAGE == made, "docs/reference/cli.md is out of date: run ./x reference");
}

#[test]
fn a_command_reads_well() {
    let mut cli = Command::new("keel").subcommand(
        Command::new("sim")
            .about("Run it")
            .arg(Arg::new("scheduler").value_name("SCHED").required(true).help("A name"))
            .arg(Arg::new("machine").long("machine").value_name("M").default_value("8").help("Where"))
            .arg(
                Arg::new("json")
                    .long("json")
                    .short('j')
                    .action(clap::ArgAction::SetTrue)
                    .help("For programs"),
            )
            .arg(
                Arg::new("engine")
                    .long("engine")
                    .value_name("E")
                    .value_parser(["native", "slow"])
                    .help("How"),
            )
            .arg(Arg::new("hidden").long("hidden").hide(true)),
    );
    let made = renewed(&format!("before\n{BEGIN}old\n{END}\nafter\n"), &mut cli);
    let expected = "## `keel sim`\n\nRun it\n\n```text\nkeel sim [OPTIONS] <SCHED>\n```\n\n- `SCHED`: A name\n\
                    - `--machine M`: Where. Default: `8`\n- `-j, --json`: For programs\n\
                    - `--engine E`: How. One of `native`, `slow`\n\n";
    assert_eq!(made, format!("before\n{BEGIN}{expected}{END}\nafter\n"));
    assert_eq!(filled("aa bb", ""), "aa bb\n");
    assert_eq!(
        filled(&"word ".repeat(25), "  "),
        format!("{}word\n  {}word\n", "word ".repeat(19), "word ".repeat(4))
    );
}
