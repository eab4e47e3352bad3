//! What an image does after a reset.

use embedded_alloc::LlffHeap;
use pki_types::PrivatePkcs8KeyDer;
use terse_brski::pledge::{Paths, Proxy};
use terse_tls::Credential;
use terse_tls::crypto::CryptoProvider;
use zeroize::Zeroizing;

use crate::driver::Driver;
use crate::exchange::Exchange;
use crate::keys::Kind;
use crate::mailbox::Mailbox;
use crate::runtime;

/// Onboards the device, and stops. A device whose identity cannot be used stops as well.
pub fn start<E: Exchange>(heap: &LlffHeap, provider: &CryptoProvider, kind: Kind, paths: Paths) -> ! {
    runtime::begin(heap);
    onboard::<E>(provider, kind, paths);
    loop {
        cortex_m::asm::wfi();
    }
}

fn onboard<E: Exchange>(provider: &CryptoProvider, kind: Kind, paths: Paths) -> Option<()> {
    let mut board = Mailbox::new();
    let own = board.provisioned();
    let key = Zeroizing::new(own.key);
    let key = provider.load_key(&PrivatePkcs8KeyDer::from(&key[..]).into()).ok()?;
    let idevid = Credential::new(own.idevid, key).ok()?;
    Driver::<_, E>::new(&mut board, provider, kind, idevid, own.manufacturer, paths).ok()?.run(&[Proxy(1)]);
    Some(())
}
