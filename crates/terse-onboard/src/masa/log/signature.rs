//! The signature of an export, by the voucher signer.

use base64ct::{Base64, Encoding as _};
use pki_types::CertificateDer;
use terse_aws_lc::PROVIDER;
use terse_brski::cms::Signed;
use terse_net::files::read_certificates;

use super::line::{EndLine, Statement};
use crate::masa::config::MasaConfig;
use crate::masa::error::MasaError;

/// Returns the certificates of those who may have signed: `signers`, or that of the voucher signer.
pub(super) fn signers_of(
    config: &MasaConfig,
    signers: &[CertificateDer<'static>],
) -> Result<Vec<CertificateDer<'static>>, MasaError> {
    if !signers.is_empty() {
        return Ok(signers.to_vec());
    }
    let chain = read_certificates(&config.voucher_signer.chain).map_err(crate::config::ConfigError::from)?;
    Ok(chain.into_iter().take(1).collect())
}

/// Verifies the signature of a last line, or says what is wrong with it.
///
/// The signer is known by the very certificate: devices have certificates of the same CA.
pub(super) fn verify(end: &EndLine, signers: &[CertificateDer<'_>]) -> Result<(), String> {
    let der = Base64::decode_vec(&end.signature).map_err(|_| "its signature is not in base64".to_owned())?;
    let signed = Signed::verify(&PROVIDER, &der, &[]).map_err(|error| format!("its signature: {error}"))?;
    if !signed.chain.first().is_some_and(|signer| signers.contains(signer)) {
        return Err(
            "somebody else has signed it; give the certificate of its signer by --signer, if you trust that".into()
        );
    }
    match serde_json::from_slice::<Statement>(&signed.content) {
        Ok(statement) if statement == end.statement() => Ok(()),
        _ => Err("its last line was changed".into()),
    }
}
