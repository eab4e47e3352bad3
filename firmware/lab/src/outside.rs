//! An image that allocates outside of its arenas must end, and say so.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Failed;
use crate::device::Power;
use crate::processor::Processor;

/// Runs an image that does it on purpose.
pub(crate) fn run(image: &str) -> Result<(), Failed> {
    let mut command = Command::new("qemu-system-arm");
    command.args([
        "-machine",
        Processor::of(Path::new(image)).machine,
        "-display",
        "none",
        "-monitor",
        "none",
        "-serial",
        "none",
    ]);
    command.args(["-semihosting-config", "enable=on,target=native", "-kernel", image]).stdin(Stdio::null());
    let (power, (output, _)) = Power::on(command.stdout(Stdio::piped()))?;
    let mut text = String::new();
    output.ok_or("QEMU has no output")?.read_to_string(&mut text)?;
    let status = power.wait()?;
    let refused = text.lines().any(|line| line.starts_with("terse-client: allocation outside of an arena"));
    if status.success() || !refused {
        return Err(format!("{image} should end with an allocation outside of an arena: {text}").into());
    }
    println!("{}", text.trim_end());
    Ok(())
}
