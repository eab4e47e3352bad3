//! The images without an engine: each exchanges keys, signatures and a text with a peer, which shows that what their sizes count
//! is there.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use terse_device::random::{SEED_LEN, SeededRng};
use terse_rustcrypto::suites::TLS_AES_128_CCM_SHA256 as SUITE;
use terse_rustcrypto::{group, sign, verify};
use terse_tls::crypto::{Group, NONCE_LEN};

use crate::Failed;
use crate::device::{KeyForm, boot, content};
use crate::lean::connects;
use crate::plant::{DEVICE_KEY, PSK, Plant, SERVER_KEY};
use crate::scenario::{Link, Proof, Scenario};

/// Runs the images without an engine, which are in a directory, once.
pub(crate) fn run(directory: &str) -> Result<(), Failed> {
    let plant = Plant::new()?;
    for (name, proof) in [("bare-p256", Proof::RawKey), ("bare-x25519", Proof::Psk)] {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let page = plant.path(&format!("{name}.page"));
        let scenario = Scenario { link: Link::Uart, proof };
        fs::write(&page, [boot(1, 1)?, content(&plant, scenario, port, KeyForm::Scalar)?].concat())?;
        let keys = match proof {
            Proof::RawKey => Some(Keys::of(&plant)?),
            _ => None,
        };
        let peer = thread::spawn(move || meet(listener.accept()?.0, keys).map_err(|error| error.to_string().into()));
        let power =
            connects(&Path::new(directory).join(name), &page, port).map_err(|error| format!("{name}: {error}"))?;
        power.cut();
        power.wait()?;
        let met: Result<(), Box<dyn std::error::Error + Send + Sync>> =
            peer.join().map_err(|_| "the peer has failed")?;
        met.map_err(|error| format!("{name}: its peer: {error}"))?;
        println!("{name} does what a connection needs without an engine");
    }
    Ok(())
}

/// The keys with which both sides sign.
struct Keys {
    /// The scalar of the peer.
    own: [u8; 32],
    /// Its point, and that of the device.
    points: [Vec<u8>; 2],
}

impl Keys {
    fn of(plant: &Plant) -> Result<Self, Failed> {
        let own = plant.scalar(SERVER_KEY)?.try_into().map_err(|_| "a key of the plant is not on P-256")?;
        let point = |name| {
            let key = plant.public_key(name)?;
            Ok::<_, Failed>(key.last_chunk::<POINT_LEN>().ok_or("a key of the plant has no point")?.to_vec())
        };
        Ok(Self { own, points: [point(SERVER_KEY)?, point(DEVICE_KEY)?] })
    }
}

/// Does the peer's part: the other side of `run` in the module `bare` of `terse-lean`.
fn meet(mut device: TcpStream, keys: Option<Keys>) -> Result<(), Failed> {
    let mut rng = SeededRng::new([7; SEED_LEN]);
    let (exchange, psk): (&dyn Group, &[u8]) =
        if keys.is_some() { (group::SECP256R1, &[]) } else { (group::X25519, &PSK) };
    let mut theirs = vec![0; if keys.is_some() { POINT_LEN } else { 32 }];
    device.read_exact(&mut theirs)?;
    let (share, secret) = exchange.respond(&mut rng, &theirs)?;
    device.write_all(&share)?;
    let digest = SUITE.hash.hash(&[&theirs, &share]);
    if let Some(Keys { own, points: [point, of_device] }) = keys {
        let key = sign::p256_key(&own).map_err(|error| error.to_string())?;
        let scheme = key.schemes().first().ok_or("the key has no scheme")?;
        let signature = key.sign(*scheme, digest.as_ref(), &mut rng)?.done().ok_or("the key does not sign at once")?;
        device.write_all(&point)?;
        device.write_all(&signature)?;
        let mut header = [0; 2];
        device.read_exact(&mut header)?;
        let mut rest = vec![0; header[1].into()];
        device.read_exact(&mut rest)?;
        let verified =
            verify::ECDSA_P256_SHA256.verify_signature(&of_device, digest.as_ref(), &[&header, &rest[..]].concat());
        verified.map_err(|_| "the device has signed something else")?;
    }
    let secret = SUITE.hash.hkdf_extract(psk, secret.as_ref());
    let mut mac = [0; 32];
    device.read_exact(&mut mac)?;
    if SUITE.hash.hmac(secret.as_ref(), &[digest.as_ref()]).as_ref() != mac {
        return Err("the device has another secret".into());
    }
    let mut key = [0; 16];
    SUITE.hash.hkdf_expand(secret.as_ref(), &[digest.as_ref()], &mut key)?;
    let key = SUITE.aead.key(&key)?;
    let mut text = TEXT;
    let mut tag = [0; TAG_LEN];
    key.seal(&[0; NONCE_LEN], &[], &mut text, &mut tag)?;
    device.write_all(&[&text[..], &tag].concat())?;
    let mut back = [0; 128];
    device.read_exact(&mut back)?;
    let len = key.open(&[1; NONCE_LEN], &[], &mut back)?;
    if back[..len] != TEXT {
        return Err("another text has come back".into());
    }
    Ok(())
}

/// The bytes of a point of P-256, and of a tag of AES-CCM.
const POINT_LEN: usize = 65;
const TAG_LEN: usize = 16;

/// What the device gets, and sends back.
const TEXT: [u8; 128 - TAG_LEN] = [0x5a; 128 - TAG_LEN];
