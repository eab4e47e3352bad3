//! The verification of a chain's signatures, outside of path building. Path building asks for signatures deep in a
//! recursion; here they are noted and assumed to be right, and then verified once, after the recursion has returned its
//! stack. A later check of revocation reuses the results.
//!
//! What must always hold: a path counts only if every signature that was assumed to be right was verified.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use pki_types::{AlgorithmIdentifier, CertificateDer, InvalidSignature, SignatureVerificationAlgorithm};
use spin::Mutex;

use super::crls::Crl;
use crate::error::CertificateError;

#[cfg(test)]
mod tests;

/// The most signatures that are verified for one chain: twice those of the longest path.
const MAX_QUESTIONS: usize = 16;

/// The questions of path building about the signatures of `chain`.
pub(super) struct Signatures<'a> {
    chain: &'a [CertificateDer<'a>],
    questions: Mutex<Vec<Question<'a>>>,
}

/// The question whether `key` made the signature of a certificate.
struct Question<'a> {
    algorithm: &'a dyn SignatureVerificationAlgorithm,
    key: Box<[u8]>,
    certificate: &'a [u8],
    message: Range<usize>,
    signature: Range<usize>,
    answer: Option<bool>,
}

/// An algorithm that notes signatures as questions, and assumes that they are right until they are verified.
struct Asking<'a> {
    algorithm: &'a dyn SignatureVerificationAlgorithm,
    signatures: &'a Signatures<'a>,
}

impl<'a> Signatures<'a> {
    /// Returns algorithms that verify nothing: they accept the signatures of the chain that were verified, and the
    /// signatures of `lists`, which were verified with the keys of their issuers.
    pub(super) fn known<'k>(
        &'k self,
        algorithms: &'k [&'k dyn SignatureVerificationAlgorithm],
        lists: &'k [&'k Crl],
    ) -> Vec<Known<'k, 'a>> {
        algorithms.iter().map(|algorithm| Known { algorithm: *algorithm, questions: &self.questions, lists }).collect()
    }

    pub(super) const fn of(chain: &'a [CertificateDer<'a>]) -> Self {
        Self { chain, questions: Mutex::new(Vec::new()) }
    }

    /// Returns the result of `build`, with signatures that are verified by `algorithms`.
    pub(super) fn verify<T>(
        &'a self,
        algorithms: &[&'a dyn SignatureVerificationAlgorithm],
        build: impl Fn(&[&dyn SignatureVerificationAlgorithm]) -> Result<T, CertificateError>,
    ) -> Result<T, CertificateError> {
        let asking: Vec<_> =
            algorithms.iter().map(|algorithm| Asking { algorithm: *algorithm, signatures: self }).collect();
        let asking: Vec<_> = asking.iter().map(|asking| asking as &dyn SignatureVerificationAlgorithm).collect();
        loop {
            let result = build(&asking);
            if self.answer() {
                return result;
            }
        }
    }

    /// Verifies the signatures that were noted since the last call. Returns whether all are right. If not, at least one
    /// more signature is known to be bad, so that the loop ends.
    fn answer(&self) -> bool {
        let mut were_true = true;
        for question in self.questions.lock().iter_mut().filter(|question| question.answer.is_none()) {
            let is_true = question.verify();
            question.answer = Some(is_true);
            were_true &= is_true;
        }
        were_true
    }

    /// Accepts a signature that is right, or not verified yet, so that path building goes on.
    fn ask(
        &'a self,
        algorithm: &'a dyn SignatureVerificationAlgorithm,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let parts = self.chain.iter().find_map(|certificate| {
            Some((certificate.as_ref(), position(certificate, message)?, position(certificate, signature)?))
        });
        let Some((certificate, message_at, signature_at)) = parts else {
            return Err(InvalidSignature); // path building asks for no other signature
        };
        let question = Question {
            algorithm,
            key: key.into(),
            certificate,
            message: message_at,
            signature: signature_at,
            answer: None,
        };
        let mut questions = self.questions.lock();
        match questions.iter().find(|known| known.is(&question)) {
            Some(Question { answer: Some(false), .. }) => Err(InvalidSignature),
            Some(_) => Ok(()),
            None if questions.len() == MAX_QUESTIONS => Err(InvalidSignature),
            None => {
                questions.push(question);
                Ok(())
            }
        }
    }
}

impl Question<'_> {
    fn is(&self, other: &Self) -> bool {
        self.message_and_signature() == other.message_and_signature()
            && self.key == other.key
            && self.algorithm.public_key_alg_id() == other.algorithm.public_key_alg_id()
            && self.algorithm.signature_alg_id() == other.algorithm.signature_alg_id()
    }

    fn verify(&self) -> bool {
        let Some((message, signature)) = self.message_and_signature() else { return false };
        self.algorithm.verify_signature(&self.key, message, signature).is_ok()
    }

    fn message_and_signature(&self) -> Option<(&[u8], &[u8])> {
        Some((self.certificate.get(self.message.clone())?, self.certificate.get(self.signature.clone())?))
    }
}

impl SignatureVerificationAlgorithm for Asking<'_> {
    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature_alg_id()
    }

    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        self.signatures.ask(self.algorithm, key, message, signature)
    }
}

/// An algorithm that only accepts signatures that were verified before.
pub(super) struct Known<'k, 'a> {
    algorithm: &'k dyn SignatureVerificationAlgorithm,
    questions: &'k Mutex<Vec<Question<'a>>>,
    lists: &'k [&'k Crl],
}

impl SignatureVerificationAlgorithm for Known<'_, '_> {
    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature_alg_id()
    }

    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let is_true = |question: &Question<'_>| {
            question.answer == Some(true)
                && question.message_and_signature() == Some((message, signature))
                && *question.key == *key
        };
        // The length and the signature identify one of our own lists, so its bytes need not be compared.
        let is_of =
            |list: &&Crl| list.signed().is_some_and(|(signed, by)| signed.len() == message.len() && by == signature);
        let is_known = self.questions.lock().iter().any(is_true) || self.lists.iter().any(is_of);
        if is_known { Ok(()) } else { Err(InvalidSignature) }
    }
}

impl fmt::Debug for Known<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.algorithm.fmt(f)
    }
}

impl fmt::Debug for Asking<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.algorithm.fmt(f)
    }
}

/// Returns the range of `part` in `whole`, if it is a subslice of it and not only equal to one.
fn position(whole: &[u8], part: &[u8]) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    let range = start..start.checked_add(part.len())?;
    (whole.get(range.clone())?.as_ptr() == part.as_ptr()).then_some(range)
}
