//! The `terse` command: arguments in, exit code out (0 done, 1 failed, 2 wrong use). Each subcommand has its module.

extern crate alloc;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod cache;
mod client;
#[cfg(feature = "simulator")]
mod compare;
mod credentials;
mod crls;
mod demo;
mod export;
mod failure;
mod identities;
mod join_proxy;
mod masa;
mod options;
mod output;
#[cfg(feature = "simulator")]
mod parallel;
mod pkg;
mod pki;
mod pledge;
mod registrar;
mod server;
mod services;
mod sessions;
#[cfg(feature = "simulator")]
mod sim;
mod stamp;
mod staples;
mod trace;

#[derive(Debug, Parser)]
#[command(version, about = "TLS for devices that pay for every byte", after_help = EXAMPLE)]
struct Arguments {
    /// Report in JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The whole story in one go, everything embedded, on loopback
    Demo(demo::DemoArgs),
    /// Connect to a TLS or DTLS server, and say what the handshake cost
    Client(Box<client::ClientArgs>),
    /// Serve TLS or DTLS to any client, and say what each handshake cost
    Server(Box<server::ServerArgs>),
    /// Every handshake mode side by side, on a simulated link
    #[cfg(feature = "simulator")]
    Compare(Box<compare::CompareArgs>),
    /// Handshakes over a 6TiSCH network in virtual time, from a scenario file
    #[cfg(feature = "simulator")]
    #[command(subcommand)]
    Sim(sim::SimCommand),
    /// What a cache file holds, and why it was not used
    #[command(subcommand)]
    Cache(cache::CacheCommand),
    /// The generator of identity keys, for handshakes without certificates
    #[command(subcommand)]
    Pkg(pkg::PkgCommand),
    /// A small CA for trying things
    #[command(subcommand)]
    Pki(pki::PkiCommand),
    /// The registrar of a domain, which accepts devices into it (RFC 8995, and
    /// constrained BRSKI)
    Registrar(registrar::RegistrarArgs),
    /// A device that is new in a network: it earns the credential of its domain (RFC 8995, or
    /// constrained BRSKI)
    Pledge(Box<pledge::PledgeArgs>),
    /// A proxy for devices that have no way to the registrar yet (RFC 8995, 4)
    JoinProxy(join_proxy::JoinProxyArgs),
    /// The MASA of a manufacturer, which signs vouchers for its devices, and the factory that makes them (RFC 8995)
    Masa(masa::MasaArgs),
}

/// The allocator counts the heap for `terse compare --memory`.
#[global_allocator]
static HEAP: terse_heap::CountingAllocator = terse_heap::CountingAllocator;

const EXAMPLE: &str = "Example:
  terse demo";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let json = arguments.json;
    let result = match arguments.command {
        Command::Demo(args) => demo::run(&args, json),
        Command::Client(args) => client::run(*args, json),
        Command::Server(args) => server::run(*args, json),
        #[cfg(feature = "simulator")]
        Command::Compare(args) => compare::run(&args, json),
        #[cfg(feature = "simulator")]
        Command::Sim(command) => sim::run(command, json),
        Command::Cache(command) => cache::run(command, json),
        Command::Pkg(command) => pkg::run(command, json),
        Command::Pki(command) => pki::run(command, json),
        Command::Registrar(args) => registrar::run(args, json),
        Command::Pledge(args) => pledge::run(*args, json),
        Command::JoinProxy(args) => join_proxy::run(args, json),
        Command::Masa(args) => masa::run(args, json),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::warn(&failure);
            failure.exit_code()
        }
    }
}
