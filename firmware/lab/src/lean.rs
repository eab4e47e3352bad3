//! The smallest images: each must connect as it is made for.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Failed;
use crate::device::{KeyForm, boot, content};
use crate::plant::Plant;
use crate::processor::Processor;
use crate::scenario::{Link, Proof, Scenario};

/// The images, and how they connect.
const IMAGES: [(&str, Scenario); 5] = [
    ("tls13-x509", Scenario { link: Link::Uart, proof: Proof::Cached }),
    ("dtls13-compact", Scenario { link: Link::Framed, proof: Proof::Cached }),
    ("tls13-raw-key", Scenario { link: Link::Uart, proof: Proof::RawKey }),
    ("tls13-psk", Scenario { link: Link::Uart, proof: Proof::Psk }),
    ("tls13-identity", Scenario { link: Link::Uart, proof: Proof::Identity }),
];

/// Runs each image of a directory once.
pub(crate) fn run(directory: &str) -> Result<(), Failed> {
    let mut plant = Plant::new()?;
    for (image, scenario) in IMAGES {
        let server = plant.serve(scenario)?;
        let port = if scenario.link == Link::Framed { carry_datagrams(server)? } else { server };
        let page = plant.path(&format!("{image}.page"));
        fs::write(&page, [boot(1, 1)?, content(&plant, scenario, server, KeyForm::Scalar)?].concat())?;
        if !connects(&Path::new(directory).join(image), &page, port)? {
            return Err(format!("{image} does not connect").into());
        }
        println!("{image} connects");
    }
    Ok(())
}

/// Starts an image with its page of flash. Returns what its lamp shows.
fn connects(image: &Path, page: &Path, port: u16) -> Result<bool, Failed> {
    let mut command = Command::new("qemu-system-arm");
    command.args([
        "-machine",
        Processor::of(image).machine,
        "-display",
        "none",
        "-monitor",
        "none",
        "-serial",
        "stdio",
    ]);
    command.args(["-serial", &format!("tcp:127.0.0.1:{port}"), "-icount", "shift=6,align=off,sleep=on", "-kernel"]);
    command.arg(image).arg("-device").arg(format!("loader,file={},addr=0xff000,force-raw=on", page.display()));
    let qemu = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut qemu = qemu.map_err(|error| format!("qemu-system-arm: {error}; install the package qemu-system-arm"))?;
    let mut lamp = [0];
    let shown = qemu.stdout.take().ok_or("QEMU has no output")?.read_exact(&mut lamp);
    let _ = qemu.kill(); // it may have ended
    qemu.wait()?;
    shown.map_err(|error| format!("{}: {error}", image.display()))?;
    Ok(lamp == *b"+")
}

/// Carries what comes over a stream, each datagram behind its length, to a server over UDP, and back. Returns the port of the stream.
fn carry_datagrams(server: u16) -> Result<u16, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for device in listener.incoming().flatten() {
            let _ = carry(device, server); // whoever is gone has no use for it
        }
    });
    Ok(port)
}

fn carry(mut device: TcpStream, server: u16) -> std::io::Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(("127.0.0.1", server))?;
    let (mut back, from) = (device.try_clone()?, socket.try_clone()?);
    std::thread::spawn(move || {
        let mut datagram = [0; 2_048];
        while let Ok(len) = from.recv(&mut datagram) {
            let frame = [&(len as u16).to_be_bytes(), &datagram[..len]].concat();
            if back.write_all(&frame).is_err() {
                break;
            }
        }
    });
    loop {
        let mut len = [0; 2];
        device.read_exact(&mut len)?;
        let mut datagram = vec![0; u16::from_be_bytes(len).into()];
        device.read_exact(&mut datagram)?;
        socket.send(&datagram)?;
    }
}
