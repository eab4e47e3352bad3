//! What an image takes without an engine: the start, memory, the page of what is known, the network, and each operation of the
//! cryptography that a handshake has. No client that is built of these parts is smaller.

use terse_device::known::Device;
use terse_device::uart::Uart;
use terse_device::wire::Wire as _;
use terse_tls::crypto::{CryptoProvider, NONCE_LEN, Rng};

use crate::LoadKey;

/// Exchanges keys, signatures if there is a key to sign with, and protected text with a peer whose program is in
/// `terse-lab`. Returns `None` if anything is wrong.
pub(crate) fn run(
    provider: &CryptoProvider,
    load_key: Option<LoadKey>,
    device: &Device,
    rng: &mut dyn Rng,
) -> Option<()> {
    let mut uart = Uart::open();
    let mut message = [0; LONGEST];
    let suite = provider.tls13_suites.first()?;
    let exchange = provider.groups.first()?.start(rng).ok()?;
    uart.transmit(0, exchange.key_share());
    let share = message.get_mut(..exchange.key_share().len())?;
    receive(&mut uart, share)?;
    let mut transcript = suite.hash.start();
    transcript.update(exchange.key_share());
    transcript.update(share);
    let secret = exchange.complete(share).ok()?;
    let digest = transcript.fork().finish();
    if let Some(load_key) = load_key {
        let (mut public, mut signature) = ([0; POINT_LEN], [0; SIGNATURE_LEN]);
        receive(&mut uart, &mut public)?;
        let (header, rest) = signature.split_first_chunk_mut::<2>()?;
        receive(&mut uart, header)?;
        let len = usize::from(header[1]);
        receive(&mut uart, rest.get_mut(..len)?)?;
        let signature = signature.get(..2 + len)?;
        provider.signatures.all.first()?.verify_signature(&public, digest.as_ref(), signature).ok()?;
        let key = load_key(device)?;
        let signing = key.sign(*key.schemes().first()?, digest.as_ref(), rng).ok()?;
        uart.transmit(0, &signing.done()?);
    }
    let secret = suite.hash.hkdf_extract(&device.psk.1, secret.as_ref());
    uart.transmit(0, suite.hash.hmac(secret.as_ref(), &[digest.as_ref()]).as_ref());
    let mut key = [0; KEY_LEN];
    suite.hash.hkdf_expand(secret.as_ref(), &[transcript.finish().as_ref()], &mut key).ok()?;
    let key = suite.aead.key(&key).ok()?;
    receive(&mut uart, &mut message)?;
    let len = key.open(&[0; NONCE_LEN], &[], &mut message).ok()?;
    let (text, tag) = message.split_at_mut_checked(len)?;
    key.seal(&[1; NONCE_LEN], &[], text, tag).ok()?;
    uart.transmit(0, &message);
    Some(())
}

/// Fills `out` with the next bytes.
fn receive(uart: &mut Uart, mut out: &mut [u8]) -> Option<()> {
    while !out.is_empty() {
        let len = uart.receive(0, out);
        out = out.get_mut(len..)?;
    }
    Some(())
}

/// The bytes of a message with its tag, of a key of AES-128, of a point of P-256, and of the longest signature with it.
const LONGEST: usize = 128;
const KEY_LEN: usize = 16;
const POINT_LEN: usize = 65;
const SIGNATURE_LEN: usize = 72;
