//! The certificates of the own CA that are revoked, and the list (CRL) that was signed last.
//!
//! What must always hold: what is revoked is in the list that is signed next, until one was issued that is beyond the
//! certificate's notAfter (RFC 5280, 3.3); of several processes that sign at once, one has its list stored, and all serve
//! that; the number of a list is greater than that of every one before it (RFC 5280, 5.2.3); a device whose certificates are
//! revoked gets no other one, however the steps of both follow each other.

use pki_types::CertificateDer;
use sqlx::Row;
use sqlx::any::AnyRow;
use terse_brski::digest::Sha256;
use terse_pki::{Revocation, RevocationReason};

use super::rows::{seconds, unsigned};
use super::{DAY, Store};
use crate::store::Transaction;

/// A list that is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct StoredCrl {
    pub(in super::super) state: CrlState,
    pub(in super::super) crl: Vec<u8>,
}

/// What is known of a list without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct CrlState {
    /// The CRL number.
    pub(in super::super) number: u64,
    pub(in super::super) this_update: u64,
    pub(in super::super) next_update: u64,
    /// The number of the last revoked certificate that is in the list.
    pub(in super::super) complete_to: u64,
}

/// The certificates that are revoked.
pub(in super::super) struct RevokedCertificates {
    pub(in super::super) entries: Vec<Revocation>,
    /// The number of the last one.
    pub(in super::super) last: u64,
    /// The serial numbers of those that are in no list yet.
    pub(in super::super) unlisted: Vec<Vec<u8>>,
}

/// Why and when a device's certificates are revoked, and the CAs that have issued them.
pub(in super::super) struct RevokeOrder<'a> {
    /// The CA that issues, and the one before: each with its name here.
    pub(in super::super) cas: &'a [(CertificateDer<'static>, Sha256)],
    pub(in super::super) reason: Option<RevocationReason>,
    pub(in super::super) time: pki_types::UnixTime,
}

/// How many certificates of a device are revoked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct RevokeCounts {
    /// Those that are revoked now.
    pub(in super::super) revoked: u64,
    /// Those that were revoked before.
    pub(in super::super) earlier: u64,
    /// Those of another CA, which only that one can revoke.
    pub(in super::super) foreign: u64,
}

impl Store {
    /// Returns the state of the list that was signed last, if there is one, and the number of the last certificate that is
    /// revoked.
    pub(in super::super) async fn crl_state(&self, issuer: &Sha256) -> Result<(Option<CrlState>, u64), sqlx::Error> {
        // What comes between the two is seen the next time.
        let row = sqlx::query("SELECT number, this_update, next_update, complete_to FROM crls WHERE issuer = $1");
        let row = row.bind(&issuer[..]).fetch_optional(&self.pool).await?;
        let last = sqlx::query("SELECT MAX(number) FROM revoked WHERE issuer = $1").bind(&issuer[..]);
        let last: Option<i64> = last.fetch_one(&self.pool).await?.try_get(0)?;
        Ok((row.as_ref().map(crl_state).transpose()?, last.map_or(0, unsigned)))
    }

    /// Returns the list that was signed last.
    pub(in super::super) async fn crl(&self, issuer: &Sha256) -> Result<Option<StoredCrl>, sqlx::Error> {
        let query = "SELECT number, this_update, next_update, complete_to, crl FROM crls WHERE issuer = $1";
        let row = sqlx::query(query).bind(&issuer[..]).fetch_optional(&self.pool).await?;
        row.map(|row| Ok(StoredCrl { state: crl_state(&row)?, crl: row.try_get("crl")? })).transpose()
    }

    /// Returns what is to be listed. `previous` is the list that was signed last.
    pub(in super::super) async fn revoked(
        &self,
        issuer: &Sha256,
        previous: Option<CrlState>,
    ) -> Result<RevokedCertificates, sqlx::Error> {
        let query = "SELECT serial, number, revoked, reason FROM revoked WHERE issuer = $1 ORDER BY number";
        let rows = sqlx::query(query).bind(&issuer[..]).fetch_all(&self.pool).await?;
        let known = previous.map_or(0, |list| list.complete_to);
        let mut all = RevokedCertificates { entries: Vec::new(), last: known, unlisted: Vec::new() };
        for row in &rows {
            let serial: Vec<u8> = row.try_get("serial")?;
            let reason = row.try_get::<Option<i64>, _>("reason")?.and_then(|code| u8::try_from(code).ok());
            let entry = Revocation::of_serial_number(&serial, unsigned(row.try_get("revoked")?));
            all.entries.push(entry.with_reason(reason.and_then(RevocationReason::from_code)));
            let number = unsigned(row.try_get("number")?);
            if number > known {
                all.last = number;
                all.unlisted.push(serial);
            }
        }
        Ok(all)
    }

    /// Stores a list in the place of the one with this number, or as the first one. Returns whether no other process was
    /// faster.
    pub(in super::super) async fn store_crl(
        &self,
        issuer: &Sha256,
        previous: Option<u64>,
        list: &StoredCrl,
    ) -> Result<bool, sqlx::Error> {
        let query = match previous {
            Some(_) => {
                "UPDATE crls SET number = $2, this_update = $3, next_update = $4, complete_to = $5, crl = $6 \
                 WHERE issuer = $1 AND number = $7"
            }
            None => {
                "INSERT INTO crls (issuer, number, this_update, next_update, complete_to, crl) \
                 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (issuer) DO NOTHING"
            }
        };
        let CrlState { number, this_update, next_update, complete_to } = list.state;
        let mut query = sqlx::query(query).bind(&issuer[..]);
        for value in [number, this_update, next_update, complete_to] {
            query = query.bind(signed(value));
        }
        query = query.bind(&list.crl[..]);
        if let Some(previous) = previous {
            query = query.bind(signed(previous));
        }
        let mut transaction = self.begin().await?;
        let done = query.execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(done.rows_affected() == 1)
    }

    /// Whether a certificate of the own CA is revoked.
    pub(in super::super) async fn is_revoked(&self, issuer: &Sha256, serial: &[u8]) -> Result<bool, sqlx::Error> {
        let found = sqlx::query("SELECT 1 FROM revoked WHERE issuer = $1 AND serial = $2").bind(&issuer[..]);
        Ok(found.bind(serial).fetch_optional(&self.pool).await?.is_some())
    }

    /// Revokes all certificates of a device that have not ended, and keeps it out until an operator accepts it again, unless it
    /// has none.
    pub(in super::super) async fn revoke(
        &self,
        idevid: &Sha256,
        order: &RevokeOrder<'_>,
    ) -> Result<RevokeCounts, sqlx::Error> {
        let mut counts = RevokeCounts::default();
        let mut transaction = self.begin().await?;
        let rows = sqlx::query("SELECT certificate, not_after FROM certificates WHERE idevid = $1 AND not_after > $2")
            .bind(&idevid[..])
            .bind(seconds(order.time))
            .fetch_all(&mut *transaction)
            .await?;
        for row in &rows {
            let certificate = CertificateDer::from(row.try_get::<Vec<u8>, _>("certificate")?);
            let mut issuers =
                order.cas.iter().filter(|(ca, _)| matches!(terse_pki::is_issued_by(&certificate, ca), Ok(true)));
            let revocation = Revocation::new(&certificate, order.time.as_secs());
            let (Some((_, issuer)), Ok(revocation)) = (issuers.next(), revocation) else {
                counts.foreign += 1;
                continue;
            };
            let mut adding = Adding::begin(&mut transaction, issuer).await?;
            let not_after = unsigned(row.try_get("not_after")?);
            match adding.add(&mut transaction, &revocation.with_reason(order.reason), not_after).await? {
                true => counts.revoked += 1,
                false => counts.earlier += 1,
            }
        }
        if !rows.is_empty() {
            sqlx::query("INSERT INTO kept_out (idevid, since) VALUES ($1, $2) ON CONFLICT (idevid) DO NOTHING")
                .bind(&idevid[..])
                .bind(seconds(order.time))
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(counts)
    }

    /// Adds what a file lists, until `not_after`. Returns how many of them are new.
    pub(in super::super) async fn add_revoked(
        &self,
        issuer: &Sha256,
        revocations: &[Revocation],
        not_after: u64,
    ) -> Result<u64, sqlx::Error> {
        let mut added = 0;
        // Others write in between, if there are many.
        for some in revocations.chunks(MAX_ADDED) {
            let mut transaction = self.begin().await?;
            let mut adding = Adding::begin(&mut transaction, issuer).await?;
            for revocation in some {
                added += u64::from(adding.add(&mut transaction, revocation, not_after).await?);
            }
            transaction.commit().await?;
        }
        Ok(added)
    }

    /// How many certificates a device has that have not ended, unless they were revoked here.
    pub(in super::super) async fn unrevoked(
        &self,
        idevid: &Sha256,
        time: pki_types::UnixTime,
    ) -> Result<u64, sqlx::Error> {
        let query = "SELECT COUNT(*) FROM certificates c WHERE c.idevid = $1 AND c.not_after > $2 \
                     AND NOT EXISTS (SELECT 1 FROM kept_out k WHERE k.idevid = c.idevid)";
        let row = sqlx::query(query).bind(&idevid[..]).bind(seconds(time)).fetch_one(&self.pool).await?;
        Ok(unsigned(row.try_get(0)?))
    }

    /// Removes what need not be listed any more: it is in the list that was signed last, and that is so many days beyond its
    /// notAfter. RFC 5280, 3.3 wants it in one list that was issued as planned beyond that; in so many days there is one.
    pub(in super::super) async fn prune_revoked(&self, issuer: &Sha256, days: u32) -> Result<(), sqlx::Error> {
        sqlx::query(
            "DELETE FROM revoked WHERE issuer = $1 \
             AND number <= (SELECT complete_to FROM crls WHERE issuer = $1) \
             AND not_after < (SELECT this_update FROM crls WHERE issuer = $1) - $2",
        )
        .bind(&issuer[..])
        .bind(i64::from(days).saturating_mul(DAY))
        .execute(&self.pool)
        .await?;
        Ok(())
    }
}

/// The numbers of certificates that are added in a transaction.
struct Adding<'a> {
    issuer: &'a Sha256,
    next: u64,
}

impl<'a> Adding<'a> {
    async fn begin(transaction: &mut Transaction, issuer: &'a Sha256) -> Result<Self, sqlx::Error> {
        let mut last = 0;
        // Numbers of rows that were removed do not come again.
        for query in
            ["SELECT MAX(number) FROM revoked WHERE issuer = $1", "SELECT MAX(complete_to) FROM crls WHERE issuer = $1"]
        {
            let row = sqlx::query(query).bind(&issuer[..]).fetch_one(&mut **transaction).await?;
            last = last.max(row.try_get::<Option<i64>, _>(0)?.map_or(0, unsigned));
        }
        Ok(Self { issuer, next: last.saturating_add(1) })
    }

    /// Returns whether it is new.
    async fn add(
        &mut self,
        transaction: &mut Transaction,
        revocation: &Revocation,
        not_after: u64,
    ) -> Result<bool, sqlx::Error> {
        let done = sqlx::query(
            "INSERT INTO revoked (issuer, serial, number, revoked, not_after, reason) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (issuer, serial) DO NOTHING",
        )
        .bind(&self.issuer[..])
        .bind(revocation.serial_number())
        .bind(signed(self.next))
        .bind(signed(revocation.time()))
        .bind(signed(not_after))
        .bind(revocation.reason().map(|reason| i64::from(reason.code())))
        .execute(&mut **transaction)
        .await?;
        let is_new = done.rows_affected() == 1;
        self.next = self.next.saturating_add(is_new.into());
        Ok(is_new)
    }
}

/// Whether an operator has revoked the certificates of a device, and has not accepted it since.
pub(super) async fn is_kept_out(transaction: &mut Transaction, idevid: &Sha256) -> Result<bool, sqlx::Error> {
    let found = sqlx::query("SELECT 1 FROM kept_out WHERE idevid = $1").bind(&idevid[..]);
    Ok(found.fetch_optional(&mut **transaction).await?.is_some())
}

/// Notes that an operator accepts a device again.
pub(super) async fn let_in(transaction: &mut Transaction, idevid: &Sha256) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM kept_out WHERE idevid = $1").bind(&idevid[..]).execute(&mut **transaction).await?;
    Ok(())
}

fn crl_state(row: &AnyRow) -> Result<CrlState, sqlx::Error> {
    let value = |name| Ok::<_, sqlx::Error>(unsigned(row.try_get(name)?));
    Ok(CrlState {
        number: value("number")?,
        this_update: value("this_update")?,
        next_update: value("next_update")?,
        complete_to: value("complete_to")?,
    })
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The most certificates of a file that one transaction adds.
const MAX_ADDED: usize = 1_000;
