//! Whom a side trusts, and how it proves its own identity.
//!
//! Unsafe, because functions with C's names cannot be declared otherwise, and take buffers of C.
#![allow(unsafe_code)]

use terse_tls::resume::ExternalPsk;
use terse_tls::{Credential, Trust};

use super::{TerseConfigBuilder, change};
use crate::certificates;
use crate::error::{Failure, TerseResult};
use crate::signer::TerseSigner;
use crate::{TerseError, pointers};

/// How a server treats clients without a certificate.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerseClientAuthentication {
    /// Clients are asked for a certificate, and may have none.
    Optional = 1,
    /// Clients without a certificate are refused.
    Required = 2,
}

/// Trusts the CA certificates in `certificates`, beside those before: a PEM text, or DER, one after the other. They are copied.
///
/// A client accepts servers whose chain leads to one of them, and whose name is the one that it connects to; a server accepts
/// clients, if it asks for certificates.
///
/// Errors: NULL_POINTER, MALFORMED_PEM, API_MISUSE_MALFORMED_CERTIFICATE.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `certificates` has `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_config_builder_trust(
    builder: Option<&mut TerseConfigBuilder>,
    certificates: *const u8,
    len: usize,
) -> TerseResult {
    change(builder, |builder| {
        // SAFETY: as the caller promises.
        let anchors = certificates::certificates(unsafe { pointers::bytes(certificates, len) }?)?;
        Trust::new(&anchors)?;
        builder.anchors.extend(anchors);
        Ok(())
    })
}

/// Trusts a raw public key (RFC 7250), beside those before: a SubjectPublicKeyInfo in PEM or DER. It is copied. A client accepts
/// such a key from any server, whatever its name.
///
/// Errors: NULL_POINTER, MALFORMED_PEM, API_MISUSE_MALFORMED_PUBLIC_KEY, API_MISUSE_UNSUPPORTED_PUBLIC_KEY.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `key` has `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_config_builder_trust_public_key(
    builder: Option<&mut TerseConfigBuilder>,
    key: *const u8,
    len: usize,
) -> TerseResult {
    change(builder, |builder| {
        // SAFETY: as the caller promises.
        let key = certificates::public_key(unsafe { pointers::bytes(key, len) }?)?;
        Trust::raw_public_keys(core::slice::from_ref(&key))?;
        builder.public_keys.push(key);
        Ok(())
    })
}

/// Proves this side's identity with a certificate chain, and the private key of its first certificate: at most 16 of them,
/// preferred first. All is copied. The copies of a key in DER are wiped when the builder and its configurations are freed; one in PEM
/// may leave some behind in the heap.
///
/// `chain` has the leaf first, and the root need not be there: a PEM text, or DER, one after the other. `key` is PKCS #8, SEC 1 or
/// PKCS #1, in PEM or DER, and not encrypted; P-256, P-384 or Ed25519.
///
/// Errors: NULL_POINTER, MALFORMED_PEM, those that begin with KEY, API_MISUSE_MALFORMED_CERTIFICATE,
/// API_MISUSE_KEY_DOES_NOT_MATCH_CERTIFICATE.
///
/// # Safety
///
/// The pointers are NULL or as the type says; the buffers have as many readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_config_builder_credential(
    builder: Option<&mut TerseConfigBuilder>,
    chain: *const u8,
    chain_len: usize,
    key: *const u8,
    key_len: usize,
) -> TerseResult {
    change(builder, |builder| {
        // SAFETY: as the caller promises.
        let (chain, key) = unsafe { (pointers::bytes(chain, chain_len)?, pointers::bytes(key, key_len)?) };
        let chain = certificates::certificates(chain)?;
        let key = builder.provider.load_key(&*certificates::private_key(key)?)?;
        builder.credentials.push(Credential::new(chain, key)?);
        Ok(())
    })
}

/// Proves this side's identity with a certificate chain, as `terse_config_builder_credential` does, and a key that the program
/// signs with. The signer is copied.
///
/// Errors: NULL_POINTER, INVALID_ARGUMENT, MALFORMED_PEM, API_MISUSE_MALFORMED_CERTIFICATE.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `chain` has `chain_len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_config_builder_credential_signer(
    builder: Option<&mut TerseConfigBuilder>,
    chain: *const u8,
    chain_len: usize,
    signer: Option<&TerseSigner>,
) -> TerseResult {
    change(builder, |builder| {
        let signer = signer.ok_or(TerseError::NullPointer)?;
        // SAFETY: as the caller promises.
        let chain = certificates::certificates(unsafe { pointers::bytes(chain, chain_len) }?)?;
        let public_key = certificates::public_key_of(&chain)?;
        // SAFETY: as the caller promises.
        let key = unsafe { signer.key(public_key) }?;
        builder.credentials.push(Credential::new(chain, key)?);
        Ok(())
    })
}

/// Proves this side's identity with a raw public key (RFC 7250), whose private half is `key`, as for
/// `terse_config_builder_credential`.
///
/// Errors: NULL_POINTER, MALFORMED_PEM, those that begin with KEY.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `key` has `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_config_builder_raw_public_key(
    builder: Option<&mut TerseConfigBuilder>,
    key: *const u8,
    len: usize,
) -> TerseResult {
    change(builder, |builder| {
        // SAFETY: as the caller promises.
        let key = builder.provider.load_key(&*certificates::private_key(unsafe { pointers::bytes(key, len) }?)?)?;
        builder.credentials.push(Credential::raw_public_key(key)?);
        Ok(())
    })
}

/// Adds a pre-shared key (RFC 9257), known to one client and one server: at least 16 random bytes, and an identity of 1 to 4,096
/// bytes, which is sent in the clear. Both are copied.
///
/// Errors: NULL_POINTER, API_MISUSE_SHORT_PSK, API_MISUSE_PSK_IDENTITY.
///
/// # Safety
///
/// The pointers are NULL or as the type says; the buffers have as many readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_config_builder_psk(
    builder: Option<&mut TerseConfigBuilder>,
    identity: *const u8,
    identity_len: usize,
    key: *const u8,
    key_len: usize,
) -> TerseResult {
    change(builder, |builder| {
        // SAFETY: as the caller promises.
        let (identity, key) = unsafe { (pointers::bytes(identity, identity_len)?, pointers::bytes(key, key_len)?) };
        builder.psks.push(ExternalPsk::new(identity, key)?);
        Ok(())
    })
}

/// Asks clients for a certificate, for a server: a value of `enum terse_client_authentication`. Without this call none are asked.
///
/// Errors: NULL_POINTER, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn terse_config_builder_client_authentication(
    builder: Option<&mut TerseConfigBuilder>,
    authentication: i32,
) -> TerseResult {
    change(builder, |builder| {
        builder.client_authentication = Some(match authentication {
            1 => TerseClientAuthentication::Optional,
            2 => TerseClientAuthentication::Required,
            _ => return Err(Failure::from(TerseError::InvalidArgument)),
        });
        Ok(())
    })
}

/// Accepts certificates in calls whose time has no wall-clock time, as if none had expired. Without this setting they are refused
/// then. Errors: NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn terse_config_builder_accept_without_clock(builder: Option<&mut TerseConfigBuilder>) -> TerseResult {
    change(builder, |builder| {
        builder.accept_without_clock = true;
        Ok(())
    })
}
