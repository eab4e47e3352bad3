//! `terse-bench operations`: this machine as devices for `terse compare --devices`, one for each provider.

use clap::Args;
use terse_bench::operations;

/// The options of `terse-bench operations`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The name of the device with AWS-LC; that with RustCrypto ends with `-rustcrypto`
    #[arg(long, default_value = "this-machine", value_parser = name)]
    name: String,
    /// Rounds over all operations, of which the fastest counts
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
}

/// How long an operation runs in a round, in seconds of CPU time.
const SLICE: f64 = 0.02;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let Arguments { name, rounds } = arguments;
    let processor = processor();
    for (name, library, provider) in [
        (name.clone(), "AWS-LC", &terse_aws_lc::PROVIDER),
        (format!("{name}-rustcrypto"), "RustCrypto", &terse_rustcrypto::RSA_SIGNING),
    ] {
        eprintln!("{name}");
        let times = operations::measure(provider, *rounds, SLICE)?;
        let description = format!("one core of {processor}; {library}, curve25519-dalek and blst");
        let source = format!("terse-bench operations, the fastest of {rounds} rounds");
        println!("{}", operations::render(&name, &description, &source, &times));
    }
    Ok(())
}

/// Returns the name of this machine's processor, where Linux tells it.
fn processor() -> String {
    let list = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = list.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| "this machine".into(), |(_, name)| name.trim().to_owned())
}

/// A name that needs no quotation marks as a key in TOML.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Ok(text.into()),
        false => Err("write letters, digits, - and _".into()),
    }
}
