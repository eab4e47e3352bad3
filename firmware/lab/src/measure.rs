//! What each way to connect costs.

use std::path::Path;

use serde_json::Value;

use crate::Failed;
use crate::device::{Device, End};
use crate::plant::Plant;
use crate::processor::Processor;
use crate::scenario::Scenario;

/// Runs each image in each way, twice with the same memory, and prints a table.
pub(crate) fn run(images: &[&str]) -> Result<(), Failed> {
    let mut plant = Plant::new()?;
    println!("| image | processor | version | mode | million instructions | ms | heap | stack | sent | received |");
    println!("|---|---|---|---|---:|---:|---:|---:|---:|---:|");
    for scenario in Scenario::ALL {
        let port = plant.serve(scenario)?;
        for image in images {
            let mut device = Device::new(&plant, image, scenario, port, 0)?;
            let mut printed = Vec::new();
            for mode in scenario.modes() {
                let report = connect(&mut device, port)?;
                if report["mode"] != mode {
                    return Err(format!("{image}: {scenario:?} should be {mode}, and is {}", report["mode"]).into());
                }
                if !printed.contains(&mode) {
                    print(image, &report);
                }
                printed.push(mode);
            }
        }
    }
    Ok(())
}

/// Starts a device, which must connect.
pub(crate) fn connect(device: &mut Device, port: u16) -> Result<Value, Failed> {
    let (_power, running) = device.start(port)?;
    match running.wait()? {
        End::Connected(report) => Ok(report),
        End::Failed(text) => Err(text.into()),
        End::Killed => Err("somebody has killed QEMU".into()),
    }
}

fn print(image: &str, report: &Value) {
    let text = |name: &str| report[name].as_str().unwrap_or("?").to_owned();
    let number = |name: &str| report[name].as_u64().unwrap_or_default();
    let instructions = number("instructions") as f64;
    let processor = Processor::of(Path::new(image));
    let milliseconds = processor.milliseconds(instructions);
    let Processor { name: processor, megahertz, .. } = processor;
    let name = image.rsplit('/').next().unwrap_or_default();
    println!(
        "| `{name}` | {processor}, {megahertz} MHz | {} | {} | {:.1} | {milliseconds:.0} | {} | {} | {} | {} |",
        text("version"),
        text("mode"),
        instructions / 1e6,
        number("heap"),
        number("stack"),
        number("sent"),
        number("received"),
    );
}
