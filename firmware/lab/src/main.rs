//! `make firmware`: images for Cortex-M in QEMU, which connect to servers of the `terse` command on this computer.
//!
//! | module | content |
//! |---|---|
//! | [`scenario`] | the ways to connect |
//! | [`plant`] | the CA, the generator, the keys, and a server for each way |
//! | [`device`] | a device: its folder, and a start of it in QEMU |
//! | [`processor`] | what an image is for: the processor, and the board with it |
//! | [`relay`] | what is between a device and its server, and cuts a connection off |
//! | [`measure`] | what each way costs |
//! | [`resets`] | resets at any time, after each of which the device must connect |
//! | [`domain`] | a manufacturer with its MASA, and a domain with its registrar and a server |
//! | [`onboard`] | devices that get their LDevID, also when they are reset on the way |
//! | [`lean`] | the smallest images and those of the peers, each of which must connect as it is made for |
//! | [`bare`] | the images without an engine, each of which must do what a handshake needs of them |
//! | [`outside`] | an image that allocates outside of its arenas, which must end it |

use std::error::Error;
use std::process::ExitCode;

mod bare;
mod device;
mod domain;
mod lean;
mod measure;
mod onboard;
mod outside;
mod plant;
mod processor;
mod relay;
mod resets;
mod scenario;

type Failed = Box<dyn Error>;

const USAGE: &str = "\
Runs the images for Cortex-M in QEMU.

Usage: terse-lab measure IMAGE...
       terse-lab resets IMAGE [--count N] [--seed N]
       terse-lab onboard IMAGE... [--count N] [--seed N]
       terse-lab lean DIRECTORY
       terse-lab peers DIRECTORY
       terse-lab outside IMAGE

IMAGE is an ELF file, such as target/thumbv7em-none-eabihf/release/client. DIRECTORY has those of terse-lean, or of the peers, which
`terse-size --peers` builds.
The environment variable TERSE names the terse command.

Example: make firmware
         make firmware RESETS=200";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(|argument| &**argument).collect();
    let result = match &arguments[..] {
        ["measure", images @ ..] if !images.is_empty() => measure::run(images),
        ["lean", directory] => lean::run(directory, &lean::LEAN).and_then(|()| bare::run(directory)),
        ["peers", directory] => lean::run(directory, &lean::PEERS),
        ["onboard", rest @ ..] if !rest.is_empty() => {
            let end = rest.iter().position(|argument| argument.starts_with("--")).unwrap_or(rest.len());
            let (images, options) = rest.split_at(end);
            resets::Options::parse(options, 10).and_then(|options| onboard::run(images, options))
        }
        ["outside", image] => outside::run(image),
        ["resets", image, options @ ..] => {
            resets::Options::parse(options, 200).and_then(|options| resets::run(image, options))
        }
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("terse-lab: {error}");
            ExitCode::FAILURE
        }
    }
}
