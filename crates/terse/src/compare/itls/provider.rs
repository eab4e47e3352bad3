//! AWS-LC with one cipher suite, as in the paper, and with ECDSA signatures of one length, so that the same seed gives the
//! same times.
//!
//! What must always hold: all algorithms are AWS-LC's, and a signature is one that its key made.

use std::sync::Arc;

use terse_aws_lc::{PROVIDER as AWS_LC, group, hash, suites, verify};
use terse_net::pki_types::PrivateKeyDer;
use terse_tls::crypto::{CryptoProvider, KeyError, SigningKey};

use crate::compare::one_length::OneLength;

/// The provider.
pub(super) static PROVIDER: CryptoProvider = CryptoProvider::new("aws-lc", verify::ALL, hash::SHA256, load_key)
    .tls13_suites(&[&suites::TLS_AES_128_CCM_SHA256])
    .groups(group::ALL);

fn load_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    Ok(Arc::new(OneLength(AWS_LC.load_key(key)?)))
}
