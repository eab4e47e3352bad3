//! Counting crypto providers: the same algorithms, and every call is noted before it is carried out.
//!
//! What must always hold: a counting provider returns what the provider inside returns, byte for byte, and draws the same
//! randomness; nothing of a provider that takes time goes around the counting.

use alloc::sync::Arc;
use std::sync::OnceLock;

use pki_types::PrivateKeyDer;
use terse_tls::crypto::{CryptoProvider, KeyError, LoadKey, SignatureAlgorithms, SigningKey, Tls12Suite, Tls13Suite};

use super::observe;

mod aead;
mod group;
pub(super) mod hash;
mod signature;

/// Returns a provider that has all algorithms of `provider`, and notes every call for [`observe`]. Keys that it loads are
/// noted as well. The same provider gives the same counting provider each time.
///
/// Returns `None` if this process counts too many other providers already: their wrappers live as long as the process, and
/// there is room for eight.
pub fn counting(provider: &'static CryptoProvider) -> Option<&'static CryptoProvider> {
    if is_counting(provider) {
        return Some(provider);
    }
    let mut slots = SLOTS.iter().zip(LOAD_KEY);
    slots.find_map(|(slot, load_key)| {
        let slot = slot.get_or_init(|| Slot { inner: provider, counting: wrap(provider, load_key) });
        core::ptr::eq(slot.inner, provider).then_some(&slot.counting)
    })
}

/// Whether `provider` is a counting one.
pub fn is_counting(provider: &CryptoProvider) -> bool {
    !observe(|| provider.sha256.hash(&[])).1.is_empty()
}

/// A provider, and its wrapper.
struct Slot {
    inner: &'static CryptoProvider,
    counting: CryptoProvider,
}

/// The providers that are counted. [`LoadKey`] is a plain function, which knows its provider by the number of its slot only.
static SLOTS: [OnceLock<Slot>; 8] = [const { OnceLock::new() }; 8];

/// The functions that load keys with the provider of a slot.
const LOAD_KEY: [LoadKey; 8] = [
    load_key::<0>,
    load_key::<1>,
    load_key::<2>,
    load_key::<3>,
    load_key::<4>,
    load_key::<5>,
    load_key::<6>,
    load_key::<7>,
];

fn load_key<const SLOT: usize>(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    // The function is in a provider of this slot only, so that the slot is full.
    let slot = SLOTS[SLOT].get().ok_or(KeyError::UnsupportedAlgorithm)?;
    Ok(Arc::new(signature::CountingKey::new(slot.inner.load_key(key)?)))
}

fn wrap(provider: &'static CryptoProvider, load_key: LoadKey) -> CryptoProvider {
    let tls13_suites = provider.tls13_suites.iter().map(|suite| {
        let mut counting: Tls13Suite = **suite;
        counting.hash = hash::counting(suite.hash);
        counting.aead = aead::counting(suite.id, suite.aead);
        counting.record_numbers = aead::counting_record_numbers(suite.id, suite.record_numbers);
        leaked(counting)
    });
    let tls12_suites = provider.tls12_suites.iter().map(|suite| {
        let mut counting: Tls12Suite = **suite;
        counting.hash = hash::counting(suite.hash);
        counting.aead = aead::counting(suite.id, suite.aead);
        leaked(counting)
    });
    let groups = provider.groups.iter().map(|group| group::counting(*group));
    let all = provider.signatures.all.iter().map(|algorithm| signature::counting(*algorithm));
    let by_scheme = provider.signatures.by_scheme.iter().map(|(scheme, algorithms)| {
        (*scheme, all_leaked(algorithms.iter().map(|algorithm| signature::counting(*algorithm))))
    });
    provider
        .tls13_suites(all_leaked(tls13_suites))
        .tls12_suites(all_leaked(tls12_suites))
        .groups(all_leaked(groups))
        .signatures(SignatureAlgorithms::new(all_leaked(all), all_leaked(by_scheme)))
        .sha256(hash::counting(provider.sha256))
        .with_load_key(load_key)
}

/// Keeps a value for the rest of the process, as the parts of a provider are. [`counting`] bounds how many there are.
fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn all_leaked<T>(values: impl Iterator<Item = T>) -> &'static [T] {
    values.collect::<Vec<T>>().leak()
}

#[cfg(test)]
mod tests;
