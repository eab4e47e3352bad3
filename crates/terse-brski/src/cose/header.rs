//! The header parameters of a COSE_Sign1 (RFC 9052, 3; RFC 9360, 2).
//!
//! What must always hold: each label is there once, in both headers together, but x5bag and x5chain may be in each of them;
//! `alg` and `crit` are protected, and what is critical is known here.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use minicbor::data::Type;

use super::MAX_CERTIFICATES;
use super::algorithm::Algorithm;
use super::parse::Sign1;
use crate::cbor::Reader;
use crate::{Malformed, SignatureRefused};

/// A label: an integer or a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Label<'a> {
    Integer(i128),
    Text(Cow<'a, str>),
}

impl<'a> Label<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        match reader.kind()? {
            Type::String | Type::StringIndef => reader.text().map(Label::Text),
            _ => Ok(Label::Integer(reader.integer()?.ok_or(Malformed::Cbor)?)),
        }
    }

    /// Returns the name of a parameter that is known here.
    const fn name(&self) -> Option<&'static str> {
        match *self {
            ALG => Some("alg"),
            CRIT => Some("crit"),
            X5BAG => Some("x5bag"),
            X5CHAIN => Some("x5chain"),
            _ => None,
        }
    }
}

/// The label of the algorithm.
const ALG: Label<'static> = Label::Integer(1);

/// The label of the labels that a reader must understand.
const CRIT: Label<'static> = Label::Integer(2);

/// The label of certificates in any order.
pub(super) const X5BAG: Label<'static> = Label::Integer(32);

/// The label of certificates in the order of a chain, which begins with the signer's.
pub(super) const X5CHAIN: Label<'static> = Label::Integer(33);

/// Both headers. Every function that takes a COSE_Sign1 reads them in this one way, so that all of them refuse the same headers
/// as malformed.
#[derive(Default)]
pub(super) struct Headers<'a> {
    /// The labels so far.
    labels: Vec<Label<'a>>,
    /// How many of them are protected.
    protected_labels: usize,
    /// The value of `alg`, which is `None` if it is no integer: no algorithm that is known here has a name.
    algorithm: Option<i128>,
    critical: Vec<Label<'a>>,
    /// The x5chain that is protected, then the other one.
    x5chains: [Vec<Cow<'a, [u8]>>; 2],
    /// Those of the x5bag that is protected, then those of the other one.
    x5bag: Vec<Cow<'a, [u8]>>,
}

impl<'a> Headers<'a> {
    /// Reads both headers.
    pub(super) fn read(sign1: &'a Sign1<'_>) -> Result<Self, Malformed> {
        let mut headers = Self::default();
        headers.read_protected(&sign1.protected)?;
        headers.read_unprotected(&mut Reader::new(sign1.unprotected))?;
        Ok(headers)
    }

    /// Returns the algorithm.
    pub(super) fn algorithm(&self) -> Result<Algorithm, SignatureRefused> {
        Algorithm::of_value(self.algorithm.ok_or(SignatureRefused::Algorithm)?)
    }

    /// Returns the certificates of possible signers: the first of each x5chain, and those of x5bag.
    pub(super) fn signers(&self) -> impl Iterator<Item = &[u8]> {
        self.x5chains.iter().filter_map(|chain| chain.first()).chain(&self.x5bag).map(AsRef::as_ref)
    }

    /// Returns all certificates: those of x5chain, then those of x5bag.
    pub(super) fn certificates(&self) -> impl Iterator<Item = &[u8]> {
        self.x5chains.iter().flatten().chain(&self.x5bag).map(AsRef::as_ref)
    }

    /// Reads the header that is protected: a map, or nothing (RFC 9052, 3).
    fn read_protected(&mut self, encoded: &'a [u8]) -> Result<(), Malformed> {
        if !encoded.is_empty() {
            let mut reader = Reader::new(encoded);
            let mut entries = reader.map()?;
            while entries.next(&mut reader)? {
                match self.read_label(&mut reader)? {
                    ALG => {
                        self.algorithm = reader.integer()?;
                        if self.algorithm.is_none() {
                            reader.skip()?;
                        }
                    }
                    CRIT => self.critical = read_critical(&mut reader)?,
                    label => self.read_value(&label, &mut reader)?,
                }
            }
            reader.finish()?;
        }
        self.protected_labels = self.labels.len();
        if !self.labels.contains(&ALG) {
            return Err(Malformed::Missing("alg"));
        }
        self.check_critical()
    }

    /// Reads the header that is not protected.
    fn read_unprotected(&mut self, reader: &mut Reader<'a>) -> Result<(), Malformed> {
        let mut entries = reader.map()?;
        while entries.next(reader)? {
            let label = self.read_label(reader)?;
            if label == CRIT {
                return Err(Malformed::Invalid("crit"));
            }
            self.read_value(&label, reader)?;
        }
        Ok(())
    }

    fn read_label(&mut self, reader: &mut Reader<'a>) -> Result<Label<'a>, Malformed> {
        let label = Label::read(reader)?;
        // The draft has x5bag in both headers of a voucher: for the pledge, and for the registrar, which removes the other one.
        let others = match label {
            X5BAG | X5CHAIN => self.labels.get(self.protected_labels..).unwrap_or_default(),
            _ => &self.labels,
        };
        if others.contains(&label) {
            return Err(Malformed::Duplicate(label.name().unwrap_or("a header parameter")));
        }
        if self.labels.len() == MAX_PARAMETERS {
            return Err(Malformed::TooMany("header parameters"));
        }
        self.labels.push(label.clone());
        Ok(label)
    }

    /// Reads certificates, or skips what has no meaning here.
    fn read_value(&mut self, label: &Label<'_>, reader: &mut Reader<'a>) -> Result<(), Malformed> {
        match *label {
            X5BAG => self.x5bag.extend(read_certificates(reader, "x5bag")?),
            X5CHAIN => {
                let [protected, other] = &mut self.x5chains;
                let chain = if self.protected_labels == 0 { protected } else { other };
                *chain = read_certificates(reader, "x5chain")?;
            }
            _ => {
                reader.skip()?;
            }
        }
        if self.certificates().count() > MAX_CERTIFICATES {
            return Err(Malformed::TooMany("certificates"));
        }
        Ok(())
    }

    /// RFC 9052, 3.1: a label in `crit` is known, and the parameter is protected.
    fn check_critical(&self) -> Result<(), Malformed> {
        let is_known = |label: &Label<'_>| label.name().is_some() && self.labels.contains(label);
        if self.critical.iter().all(is_known) { Ok(()) } else { Err(Malformed::Invalid("crit")) }
    }
}

/// Reads the value of `crit`: at least one label.
fn read_critical<'a>(reader: &mut Reader<'a>) -> Result<Vec<Label<'a>>, Malformed> {
    let mut labels = Vec::new();
    let mut entries = reader.array()?;
    while entries.next(reader)? {
        if labels.len() == MAX_PARAMETERS {
            return Err(Malformed::TooMany("header parameters"));
        }
        labels.push(Label::read(reader)?);
    }
    if labels.is_empty() { Err(Malformed::Invalid("crit")) } else { Ok(labels) }
}

/// Reads a COSE_X509: a certificate, or an array of them. Of one certificate RFC 9360, 2, has no array, but the draft's example
/// of a voucher has one.
fn read_certificates<'a>(reader: &mut Reader<'a>, name: &'static str) -> Result<Vec<Cow<'a, [u8]>>, Malformed> {
    let mut certificates = Vec::new();
    if matches!(reader.kind()?, Type::Bytes | Type::BytesIndef) {
        certificates.push(reader.bytes()?);
        return Ok(certificates);
    }
    let mut entries = reader.array()?;
    while entries.next(reader)? {
        if certificates.len() == MAX_CERTIFICATES {
            return Err(Malformed::TooMany("certificates"));
        }
        certificates.push(reader.bytes()?);
    }
    if certificates.is_empty() { Err(Malformed::Invalid(name)) } else { Ok(certificates) }
}

/// The most parameters in both headers.
const MAX_PARAMETERS: usize = 16;
