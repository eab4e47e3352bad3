//! The `terse` command: arguments in, exit code out (0 done, 1 failed, 2 wrong use). Each subcommand has its module.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod failure;
mod pki;

#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// Report in JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A small CA for trying things
    #[command(subcommand)]
    Pki(pki::PkiCommand),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let json = arguments.json;
    let result = match arguments.command {
        Command::Pki(command) => pki::run(command, json),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("terse: {failure}");
            failure.exit_code()
        }
    }
}
