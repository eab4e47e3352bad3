//! An earlier export, beside which the chain in the database is verified.

use std::path::Path;

use pki_types::CertificateDer;

use super::LogHead;
use super::file::{Content, Contents, Export};
use crate::masa::error::MasaError;

/// An export that was verified, and is read once more.
pub(super) struct Earlier {
    head: LogHead,
    contents: Option<Contents>,
}

impl Earlier {
    pub(super) fn open(file: &Path, signers: &[CertificateDer<'_>]) -> Result<Self, MasaError> {
        let export = Export::open(file, signers)?;
        export.verify(&mut |_, _| ())?;
        Ok(Self { head: export.head(), contents: Some(export.contents()?) })
    }

    pub(super) const fn head(&self) -> LogHead {
        self.head
    }

    /// Whether the next entry of the export is this link too, or the export has no more.
    pub(super) fn is_next(&mut self, link: &LogHead) -> Result<bool, MasaError> {
        while let Some(contents) = &mut self.contents {
            match contents.next()? {
                Some(Content::Device(_)) => {}
                Some(Content::Entry(logged)) => return Ok(logged.link == *link),
                None => self.contents = None,
            }
        }
        Ok(true)
    }
}
