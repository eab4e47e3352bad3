//! `terse-bench unverified`: the heap of a client that takes its server unverified and keeps what the server has presented,
//! beside one that verifies the server's chain and keeps its names and key (`Trust::unverified`).

use clap::Args;
use terse_bench::measure::heap;
use terse_bench::stack::{Chains, Mode, Profile, Setting, Stack, Version};
use terse_bench::{stacks, table};

use super::select;

/// The options of `terse-bench unverified`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Stacks of Terse, with commas
    #[arg(long, value_name = "STACK", value_delimiter = ',', default_value = "terse-aws-lc,terse-rustcrypto")]
    only: Vec<String>,
    /// Versions, with commas
    #[arg(long, value_delimiter = ',', value_enum, default_values = ["1.3", "1.2", "dtls1.3", "dtls1.2"])]
    versions: Vec<Version>,
    /// The server's chains, by the names of `terse pki`, which count the root
    #[arg(long, value_name = "CHAIN", value_delimiter = ',', default_value = "p256x2,p256x3,p256x5")]
    chains: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let all = stacks::all();
    for stack in select(&all, &arguments.only)? {
        let columns = ["server", "peak, verified", "unverified", "idle, verified", "unverified", "more when idle"];
        let mut rows = vec![core::iter::once(stack.name()).chain(columns).map(String::from).collect::<Vec<_>>()];
        for version in &arguments.versions {
            for chain in &arguments.chains {
                rows.push(row(stack, *version, chain)?);
            }
        }
        println!("{}", table::lay_out(&rows));
    }
    Ok(())
}

fn row(stack: &dyn Stack, version: Version, chain: &str) -> Result<Vec<String>, String> {
    eprintln!("{} {}: {chain}", stack.name(), version.title());
    let heap = |mode| {
        let profile = Profile::Ec3;
        let server = chain.to_owned().leak(); // for the rest of the process
        let chains = Chains { client: profile.chain(), server };
        heap::client(stack, Setting { chains, ..Setting::new(version, profile, mode) })
    };
    let ([peak, idle], [peak_unverified, idle_unverified]) = (heap(Mode::Full)?, heap(Mode::Unverified)?);
    let numbers = [peak, peak_unverified, idle, idle_unverified].map(|bytes| table::thousands(bytes as u64));
    let more = format!("{:+}", idle_unverified - idle);
    Ok([version.title().to_owned(), chain.to_owned()].into_iter().chain(numbers).chain([more]).collect())
}
