//! The pledge's verification of a voucher (RFC 8995, 5.6.1), and of its provisional connection with it (5.6.2).
//!
//! What must always hold: [`VerifiedVoucher::verify`] is the only way to a [`VerifiedVoucher`], and
//! [`VerifiedVoucher::imprint`] the only way to an [`Imprint`], without which there is no enrollment.

use alloc::vec::Vec;
use core::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use terse_tls::{CertificateError, Expect, KeyPurposeId};

use super::certificates::{domain_trust, in_order, is_valid_at};
use super::command::Presented;
use super::config::PledgeConfig;
use super::failure::VoucherRefused;
use super::form::{Form, SignedVoucher};
use super::http::Response;
use crate::SignatureRefused;
use crate::certificate::{is_same_issuer, public_key, same_key};
use crate::voucher::{Assertion, Nonce, Pin, Voucher};
use crate::voucher_signer::{self, SignerRefused};

/// A voucher of this pledge's manufacturer, for this pledge and this request.
pub(super) struct VerifiedVoucher(Voucher);

/// The domain that the pledge is in now: its voucher was verified, and its registrar has proven to be of the domain.
pub(super) struct Imprint {
    pub(super) assertion: Assertion,
    /// The pinned certificate, which is a trust anchor until the domain gives its own.
    pub(super) pinned_domain_cert: Option<CertificateDer<'static>>,
}

impl VerifiedVoucher {
    /// Verifies the answer to the request with this nonce.
    pub(super) fn verify<F: Form>(
        config: &PledgeConfig<F>,
        time: Option<UnixTime>,
        nonce: &Nonce,
        response: &Response<'_>,
    ) -> Result<Self, VoucherRefused> {
        if !response.has_type(F::NAMES.voucher_type) {
            return Err(VoucherRefused::ContentType);
        }
        let signed = F::verify(&config.provider, response.body, &config.manufacturer);
        let SignedVoucher { content, chain, signing_time } = signed.map_err(VoucherRefused::Signature)?;
        verify_signer(config, &chain, time)?;
        let voucher = F::decode_voucher(&content).map_err(VoucherRefused::Malformed)?;
        if voucher.serial_number != config.serial_number {
            return Err(VoucherRefused::SerialNumber);
        }
        let is_ours = |issuer: &[u8]| config.issuer.as_deref().is_some_and(|own| is_same_issuer(own, issuer));
        if voucher.idevid_issuer.as_deref().is_some_and(|issuer| !is_ours(issuer)) {
            return Err(VoucherRefused::IdevidIssuer);
        }
        match &voucher.nonce {
            Some(own) if own == nonce => {}
            Some(_) => return Err(VoucherRefused::Nonce),
            None if config.accept_nonceless => {}
            None => return Err(VoucherRefused::Nonceless),
        }
        if let Some(now) = time {
            check_dates(&voucher, signing_time, now)?;
        }
        // RFC 8366, 5.3: a pledge that cannot check revocation refuses.
        if voucher.domain_cert_revocation_checks == Some(true) {
            return Err(VoucherRefused::RevocationChecks);
        }
        if voucher.pins.is_empty() {
            return Err(VoucherRefused::NoPin);
        }
        Ok(Self(voucher))
    }

    /// Authenticates the registrar that has presented this, by the pin.
    pub(super) fn imprint<F: Form>(
        self,
        config: &PledgeConfig<F>,
        time: Option<UnixTime>,
        presented: Presented<'_>,
    ) -> Result<Imprint, VoucherRefused> {
        let pin = self.pin(&config.form).ok_or(VoucherRefused::NoPin)?;
        match presented {
            Presented::Chain(chain) => authenticate(config, time, pin, chain).map_err(VoucherRefused::Registrar)?,
            Presented::RawPublicKey(key) if is_pinned_key(config, pin, key) => {}
            Presented::RawPublicKey(_) => return Err(VoucherRefused::RawPublicKey),
        }
        let pinned_domain_cert = match pin {
            Pin::Certificate(certificate) => Some(certificate.clone()),
            _ => None,
        };
        Ok(Imprint { assertion: self.0.assertion, pinned_domain_cert })
    }

    /// Returns the pin of the kind that the request has named the registrar by, or else the first one.
    fn pin(&self, form: &impl Form) -> Option<&Pin> {
        let pins = &self.0.pins;
        pins.iter().find(|pin| form.is_proximity(pin)).or_else(|| pins.first())
    }
}

/// Checks that the signer is the manufacturer's: its key is that of an anchor, or its chain leads to an anchor that is a CA of voucher
/// signers. A CA that has issued the own IDevID has other customers, so that a chain which leads there counts for nothing.
fn verify_signer<F: Form>(
    config: &PledgeConfig<F>,
    chain: &[CertificateDer<'_>],
    time: Option<UnixTime>,
) -> Result<(), VoucherRefused> {
    let refused = VoucherRefused::Signature;
    let signer = chain.first().ok_or(refused(SignatureRefused::NoSigner))?;
    if config.manufacturer.iter().any(|anchor| same_key(anchor, signer)) {
        return is_valid_at(signer, time).map_err(|error| refused(SignatureRefused::Chain(error)));
    }
    match voucher_signer::check(&config.provider, &config.manufacturer_trust, &in_order(chain), time) {
        Ok(()) => Ok(()),
        Err(SignerRefused::Chain(CertificateError::UnknownIssuer)) if config.has_device_ca => {
            Err(VoucherRefused::UnknownSigner)
        }
        Err(SignerRefused::Chain(error)) => Err(refused(SignatureRefused::Chain(error))),
        Err(SignerRefused::Device) => Err(VoucherRefused::SignedByDevice),
        Err(SignerRefused::Malformed(malformed)) => Err(refused(malformed.into())),
    }
}

/// Checks what a voucher says about time (RFC 8995, 2.6.1).
fn check_dates(voucher: &Voucher, signing_time: Option<UnixTime>, now: UnixTime) -> Result<(), VoucherRefused> {
    let latest = UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs().saturating_add(CLOCK_TOLERANCE_S)));
    if [voucher.created_on, signing_time].into_iter().flatten().any(|begun| begun > latest) {
        return Err(VoucherRefused::NotYetValid);
    }
    if voucher.expires_on.is_some_and(|end| end < now) {
        return Err(VoucherRefused::Expired);
    }
    Ok(())
}

/// Checks that `chain` is that of a registrar of the pinned domain: its key is pinned, or a path leads to the pin as the
/// only trust anchor.
fn authenticate<F: Form>(
    config: &PledgeConfig<F>,
    time: Option<UnixTime>,
    pin: &Pin,
    chain: &[CertificateDer<'_>],
) -> Result<(), CertificateError> {
    let leaf = chain.first().ok_or(CertificateError::Required)?;
    if is_pinned(config, pin, leaf) {
        return is_valid_at(leaf, time);
    }
    // A pinned key has no name of its own. It gets that of the certificate which the registrar has presented for it: who
    // has the private key could have issued the next one under any name.
    let anchors: Vec<CertificateDer<'_>> = match pin {
        Pin::Certificate(certificate) => [certificate.clone()].into(),
        _ => chain.iter().filter(|certificate| is_pinned(config, pin, certificate)).cloned().collect(),
    };
    if anchors.is_empty() {
        return Err(CertificateError::UnknownIssuer);
    }
    let trust = domain_trust(&anchors, config.paths, chain.len())?;
    let expect = match config.require_cmc_ra {
        true => Expect::Usage(KeyPurposeId::CMC_RA),
        false => Expect::AnyUsage,
    };
    trust.check(&config.provider, &in_order(chain), expect, time).map(drop)
}

/// Whether the key of a certificate is the pinned one.
fn is_pinned<F: Form>(config: &PledgeConfig<F>, pin: &Pin, certificate: &CertificateDer<'_>) -> bool {
    public_key(certificate).is_ok_and(|key| is_pinned_key(config, pin, key))
}

/// Whether a key, a DER SubjectPublicKeyInfo, is the pinned one.
fn is_pinned_key<F: Form>(config: &PledgeConfig<F>, pin: &Pin, key: &[u8]) -> bool {
    match pin {
        Pin::Certificate(pinned) => public_key(pinned).is_ok_and(|pinned| *pinned == *key),
        Pin::PublicKey(pinned) => **pinned == *key,
        Pin::PublicKeySha256(pinned) => config.provider.sha256.hash(&[key]).as_ref() == pinned,
    }
}

/// How much later than the pledge's clock another clock may be, in seconds.
const CLOCK_TOLERANCE_S: u64 = 300;

#[cfg(test)]
mod tests;
