//! Voucher requests of a pledge (RFC 8995, 5.2), on their way and while their answer is waited for.
//!
//! What must always hold: every request has a fresh nonce, and is repeated byte by byte.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::ToString as _;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use pki_types::CertificateDer;
use terse_tls::{CertificateType, Instant};

use crate::pledge::command::{Presented, Target};
use crate::pledge::context::Context;
use crate::pledge::failure::AttemptFailed;
use crate::pledge::form::Form;
use crate::voucher::{Assertion, MAX_LEN, Nonce, VoucherRequest};

/// Where voucher requests go.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) target: Target,
    pub(super) path: Cow<'static, str>,
    pub(super) redirections: u8,
}

/// A registrar that nobody has verified yet.
pub(super) struct Registrar {
    pub(super) identity: RegistrarIdentity,
    /// The hash of what it has presented, by which it is known again.
    pub(super) digest: [u8; 32],
}

/// What a registrar has presented.
pub(super) enum RegistrarIdentity {
    Chain(Vec<CertificateDer<'static>>),
    RawPublicKey(Box<[u8]>),
}

impl Registrar {
    /// Takes what the pledge can do with: a chain with at least one certificate, and not too much, or a raw public key.
    pub(super) fn new<F: Form>(cx: &Context<'_, F>, presented: Presented<'_>) -> Option<Self> {
        let has_raw_public_keys = cx.config.certificate_type() == CertificateType::RAW_PUBLIC_KEY;
        let identity = match presented {
            Presented::Chain(chain) if !has_raw_public_keys => {
                let len: usize = chain.iter().map(|certificate| certificate.len()).sum();
                if !(1..=MAX_CERTIFICATES).contains(&chain.len()) || len > MAX_LEN {
                    return None;
                }
                RegistrarIdentity::Chain(chain.iter().map(|certificate| certificate.clone().into_owned()).collect())
            }
            Presented::RawPublicKey(key) if has_raw_public_keys && key.len() <= MAX_LEN => {
                RegistrarIdentity::RawPublicKey(key.into())
            }
            _ => return None,
        };
        Some(Self { identity, digest: cx.digest_of(presented) })
    }

    pub(super) fn presented(&self) -> Presented<'_> {
        match &self.identity {
            RegistrarIdentity::Chain(chain) => Presented::Chain(chain),
            RegistrarIdentity::RawPublicKey(key) => Presented::RawPublicKey(key),
        }
    }
}

/// A voucher request on its way.
pub(super) struct Sent {
    pub(super) request: Arc<[u8]>,
    pub(super) nonce: Nonce,
    pub(super) registrar: Registrar,
    /// When the pledge gives up, if it was answered with 202.
    pub(super) deadline: Option<Instant>,
}

/// A voucher request that was answered with 202, and whose connection is closed.
pub(in crate::pledge) struct Outstanding {
    pub(super) route: Route,
    pub(super) request: Arc<[u8]>,
    pub(super) nonce: Nonce,
    /// The hash of what the registrar has presented.
    pub(super) registrar: [u8; 32],
    pub(super) deadline: Instant,
}

impl Sent {
    /// Returns what is kept of it without a connection, if it was answered with 202.
    pub(super) fn outstanding(self, route: Route) -> Option<Box<Outstanding>> {
        let Self { request, nonce, registrar, deadline } = self;
        Some(Box::new(Outstanding { route, request, nonce, registrar: registrar.digest, deadline: deadline? }))
    }
}

/// Makes a voucher request with a fresh nonce for the registrar that has presented itself so (RFC 8995, 5.2).
pub(super) fn voucher_request<F: Form>(
    cx: &mut Context<'_, F>,
    registrar: &Registrar,
) -> Result<(F::Unsigned, Nonce), AttemptFailed> {
    let mut random = [0; NONCE_LEN];
    cx.rng.fill(&mut random).map_err(AttemptFailed::Crypto)?;
    let (config, nonce) = (cx.config, F::nonce(&random));
    let mut request = VoucherRequest::new(config.serial_number.to_string());
    request.created_on = cx.date();
    request.assertion = Some(Assertion::Proximity);
    request.nonce = Some(nonce.clone());
    let proximity = config.form.proximity(&config.provider, registrar.presented());
    request.proximity_registrar = vec![proximity.map_err(AttemptFailed::Request)?];
    let content = F::encode_request(&request);
    drop(request);
    let unsigned = F::unsigned(&config.provider, &content, &config.idevid, config.scheme, cx.date());
    Ok((unsigned.map_err(AttemptFailed::Request)?, nonce))
}

/// The length of the randomness in a nonce. RFC 8366, 5.3 allows 8 to 32 bytes.
const NONCE_LEN: usize = 16;

/// The most certificates of a registrar.
const MAX_CERTIFICATES: usize = 16;
