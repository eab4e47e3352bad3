//! The smallest images, and those of the peers that they are compared with: each must connect as it is made for.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Failed;
use crate::device::{KeyForm, LIMIT, Power, boot, content};
use crate::plant::Plant;
use crate::processor::Processor;
use crate::scenario::{Link, Proof, Scenario};

/// An image, and how it connects.
pub(crate) struct Image {
    name: &'static str,
    scenario: Scenario,
    /// How often it connects.
    connections: usize,
    key: KeyForm,
}

/// The images of `terse-lean`.
pub(crate) const LEAN: [Image; 5] = [
    Image::new("tls13-x509", Link::Uart, Proof::Cached),
    Image { connections: 2, ..Image::new("dtls13-compact", Link::Framed, Proof::Cached) },
    Image::new("tls13-raw-key", Link::Uart, Proof::RawKey),
    Image::new("tls13-psk", Link::Uart, Proof::Psk),
    Image::new("tls13-identity", Link::Uart, Proof::Identity),
];

/// The images of the peers.
pub(crate) const PEERS: [Image; 4] = [
    Image { key: KeyForm::Pkcs8, ..Image::new("mbedtls-x509", Link::Uart, Proof::Cached) },
    Image::new("mbedtls-psk", Link::Uart, Proof::Psk),
    Image { key: KeyForm::Pkcs8, ..Image::new("wolfssl-x509", Link::Uart, Proof::Cached) },
    Image::new("wolfssl-psk", Link::Uart, Proof::Psk),
];

impl Image {
    const fn new(name: &'static str, link: Link, proof: Proof) -> Self {
        Self { name, scenario: Scenario { link, proof }, connections: 1, key: KeyForm::Scalar }
    }
}

/// Runs each of these images, which are in a directory, once. Its server must report the modes that the image is made for.
pub(crate) fn run(directory: &str, images: &[Image]) -> Result<(), Failed> {
    let mut plant = Plant::new()?;
    for Image { name, scenario, connections, key } in images {
        let server = plant.serve(*scenario)?;
        let port = if scenario.link == Link::Framed { carry_datagrams(server)? } else { server };
        let page = plant.path(&format!("{name}.page"));
        fs::write(&page, [boot(1, 1)?, content(&plant, *scenario, server, *key)?].concat())?;
        let connected = connects(&Path::new(directory).join(name), &page, port);
        let power = connected.map_err(|error| format!("{name}: {error}; its server: {}", plant.errors()))?;
        if scenario.link != Link::Framed {
            power.cut(); // the stream ends, which its server waits for
        }
        let modes = &scenario.modes()[..*connections];
        for mode in modes {
            let report = plant.report()?;
            if report["mode"] != *mode {
                return Err(format!("{name}: a connection should be {mode}; its server reports {report}").into());
            }
        }
        power.cut(); // what the device has sent last has come
        power.wait()?;
        println!("{name} connects: {}", modes.join(", "));
    }
    Ok(())
}

/// Starts an image with its page of flash. Its lamp must show that it has connected.
pub(crate) fn connects(image: &Path, page: &Path, port: u16) -> Result<Power, Failed> {
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
    let (power, (output, _)) = Power::on(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
    let mut lamp = [0];
    let shown = output.ok_or("QEMU has no output")?.read_exact(&mut lamp);
    if shown.is_ok() && lamp == *b"+" {
        return Ok(power);
    }
    power.cut();
    power.wait()?;
    match shown {
        Ok(()) => Err("it has failed".into()),
        Err(_) => Err(format!("QEMU has ended, or was killed after {LIMIT:?}, and the image has shown nothing").into()),
    }
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
