//! `terse-bench bootstrap` on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use terse_bench::bootstrap::{Bootstrap, Form};

use crate::write;

/// How many devices are onboarded, and where their files are.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// What the devices speak: RFC 8995 over HTTPS, or constrained BRSKI over CoAPS
    #[arg(long, value_enum, value_name = "FORM", default_value_t = FormArg::Https)]
    form: FormArg,
    /// A short run: 1 device
    #[arg(long)]
    quick: bool,
    /// How many devices there are
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    rounds: u16,
    /// Where all files are, so that the disk can be chosen [default: the directory of temporary files]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Write all numbers to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What devices speak.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormArg {
    /// RFC 8995 over HTTPS
    Https,
    /// Constrained BRSKI, DTLS 1.3
    Coaps,
    /// Constrained BRSKI, DTLS 1.2
    CoapsDtls12,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let rounds = if arguments.quick { 1 } else { usize::from(arguments.rounds) };
    let form = match arguments.form {
        FormArg::Https => Form::Https,
        FormArg::Coaps => Form::Coaps13,
        FormArg::CoapsDtls12 => Form::Coaps12,
    };
    let measured = Bootstrap { form, rounds, directory: arguments.directory.clone() }.measure()?;
    print!("{}", measured.render());
    arguments.json.as_deref().map_or(Ok(()), |path| write(path, &serde_json::json!(measured)))
}
