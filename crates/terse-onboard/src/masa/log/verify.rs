//! The chain in the database is verified, from its first entry to its head, with the vouchers and the devices.
//!
//! What must always hold: all is read from one state of the database, in pages, while vouchers are issued.

use std::path::Path;

use pki_types::CertificateDer;
use sqlx::Row as _;
use terse_brski::digest::Sha256;

use super::beside;
use super::entry::{Entry, sha256};
use super::rows::{self, Row, StoredVoucher, count, damaged};
use super::signature::signers_of;
use super::since::Earlier;
use super::{Finding, LogHead, Problem, Progress};
use crate::masa::config::MasaConfig;
use crate::masa::error::MasaError;
use crate::masa::operator::open_existing;
use crate::store::Connection;

/// What else a chain is compared with. The default is nothing.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct VerifyOptions<'a> {
    /// A head that the chain has had.
    pub expected_head: Option<LogHead>,
    /// An export that was made of it.
    pub since: Option<&'a Path>,
    /// The certificates of those who may have signed the export; without any, that of the voucher signer in the configuration.
    pub signers: &'a [CertificateDer<'static>],
}

impl<'a> VerifyOptions<'a> {
    /// Creates options that compare with a head and an export.
    pub const fn new(
        expected_head: Option<LogHead>,
        since: Option<&'a Path>,
        signers: &'a [CertificateDer<'static>],
    ) -> Self {
        Self { expected_head, since, signers }
    }
}

/// Verifies the whole audit log, and returns its head. The first thing that is wrong is a [`MasaError::Log`].
pub async fn verify_log(
    config: &MasaConfig,
    options: &VerifyOptions<'_>,
    progress: Progress<'_>,
) -> Result<LogHead, MasaError> {
    let since = match options.since {
        Some(file) => Some(Earlier::open(file, &signers_of(config, options.signers)?)?),
        None => None,
    };
    let store = open_existing(config).await?;
    let verified = async {
        let mut snapshot = store.pool().snapshot().await?;
        Verification { connection: &mut snapshot, since, expected: options.expected_head, vouchers: 0 }
            .run(progress)
            .await
    };
    let verified = verified.await;
    store.close().await;
    verified
}

/// A verification on one connection.
pub(super) struct Verification<'a> {
    connection: &'a mut Connection,
    since: Option<Earlier>,
    expected: Option<LogHead>,
    /// How many vouchers were found that have their entry.
    vouchers: i64,
}

impl<'a> Verification<'a> {
    pub(super) const fn new(connection: &'a mut Connection) -> Self {
        Self { connection, since: None, expected: None, vouchers: 0 }
    }

    pub(super) async fn run(mut self, progress: Progress<'_>) -> Result<LogHead, MasaError> {
        let head = rows::head(self.connection).await?.ok_or_else(|| damaged("head of the audit log"))?;
        let mut last = LogHead::EMPTY;
        loop {
            let page = rows::page(self.connection, last.length).await?;
            if page.is_empty() {
                break;
            }
            for row in page {
                last = self.link(&row, &last, &head).await?;
            }
            progress(last.length, head.length);
        }
        self.end(&last, &head).await?;
        beside::check_vouchers(self.connection, self.vouchers).await?;
        beside::check_devices(self.connection, &head).await?;
        Ok(head)
    }

    /// Verifies one entry, which makes the head that is returned.
    async fn link(&mut self, row: &Row, last: &LogHead, head: &LogHead) -> Result<LogHead, MasaError> {
        let place = last.length.saturating_add(1);
        if row.position != place {
            return Err(Finding::at(place, Problem::Missing).into());
        }
        let found = |problem| MasaError::from(Finding::at(place, problem).about(row.entry.as_ref()));
        let Some(entry) = row.entry.as_ref().filter(|_| row.follows(last)) else {
            return Err(found(self.diagnose(row).await?));
        };
        if place > head.length {
            return Err(found(Problem::AfterHead));
        }
        if let Some(problem) = self.voucher(entry, row.voucher.as_ref()).await? {
            return Err(found(problem));
        }
        let link = row.link();
        let expected = self.expected.is_none_or(|expected| expected.length != place || expected == link);
        let since = match &mut self.since {
            Some(earlier) => earlier.is_next(&link)?,
            None => true,
        };
        if !expected || !since {
            return Err(found(Problem::Earlier));
        }
        Ok(link)
    }

    /// Finds out why an entry does not follow the one before it, by trying all others.
    async fn diagnose(&mut self, row: &Row) -> Result<Problem, MasaError> {
        let mut before = LogHead::EMPTY;
        loop {
            let page = rows::page(self.connection, before.length).await?;
            if page.is_empty() {
                return Ok(if row.follows(&before) { Problem::OutOfOrder(before.length) } else { Problem::Changed });
            }
            for next in page {
                if row.follows(&before) {
                    let forked = next.position != row.position && next.follows(&before);
                    let problem = if forked { Problem::Forked } else { Problem::OutOfOrder };
                    return Ok(problem(before.length));
                }
                before = next.link();
            }
        }
    }

    /// Compares an entry with its voucher. One without a nonce is replaced by the same request after it has expired.
    async fn voucher(&mut self, entry: &Entry, voucher: Option<&StoredVoucher>) -> Result<Option<Problem>, MasaError> {
        if let Some(stored) = voucher {
            let digest: Sha256 = sha256(&[&stored.voucher]);
            let is_same = entry.request.as_ref() == Some(&stored.request)
                && entry.voucher_sha256.as_deref() == Some(&digest)
                && entry.expires_on == stored.expires_on;
            self.vouchers += i64::from(is_same);
            return Ok((!is_same).then_some(Problem::VoucherChanged));
        }
        // Of what was replaced in earlier versions nothing is known.
        let Some(request) = &entry.request else { return Ok(None) };
        let query = "SELECT number FROM issued_vouchers WHERE request = $1 AND number > $2";
        let query = sqlx::query(query).bind(request).bind(entry.number);
        let is_replaced = entry.expires_on.is_some() && query.fetch_optional(&mut *self.connection).await?.is_some();
        Ok((!is_replaced).then_some(Problem::VoucherMissing))
    }

    /// Compares the last entry with the head, and with what was known before, and looks for entries beside the chain.
    async fn end(&mut self, last: &LogHead, head: &LogHead) -> Result<(), MasaError> {
        let next = last.length.saturating_add(1);
        if last.length < head.length {
            return Err(Finding::at(next, Problem::Missing).into());
        }
        if last != head {
            return Err(Finding::of(head, Problem::Head).into());
        }
        let since = self.since.as_ref().map(Earlier::head);
        for earlier in [since, self.expected].into_iter().flatten() {
            if earlier.length > head.length {
                return Err(Finding::at(next, Problem::Shorter(earlier.length)).into());
            }
            if earlier.length == 0 && earlier != LogHead::EMPTY {
                return Err(Finding::at(0, Problem::Earlier).into());
            }
        }
        if count(self.connection, "SELECT COUNT(*) FROM audit_log").await? == head.length {
            return Ok(());
        }
        let query = "SELECT serial_number, number FROM audit_log WHERE position IS NULL OR position < 1 LIMIT 1";
        let row = sqlx::query(query).fetch_optional(&mut *self.connection).await?;
        let (serial_number, number) = match row {
            Some(row) => (row.try_get("serial_number").ok(), row.try_get("number").ok()),
            None => (None, None), // two with one position, where the index was removed
        };
        Err(Finding::of_device(serial_number, number, Problem::Unlinked).into())
    }
}
