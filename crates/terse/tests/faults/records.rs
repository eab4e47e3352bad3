//! What MASA and registrar have on the disk in the end.

use std::collections::BTreeSet;
use std::path::Path;

use sqlx::Row;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};

use crate::common::{run, terse};

/// Checks that each voucher has its entry in the audit log, whose chain is right, that the registrar has what the MASA issued, and that the device has
/// what the registrar has noted.
pub(crate) fn check(folder: &Path, context: &str) {
    let mut command = terse();
    command.args(["masa", "log", "verify", "--config"]).arg(folder.join("maker/masa.toml"));
    let verified = run(command);
    assert_eq!(verified.code, Some(0), "{verified:#?}: {context}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let masa = open(&folder.join("maker/masa.db")).await;
        let issued = blobs(&masa, "SELECT voucher FROM issued_vouchers").await;
        let entries = count(&masa, "SELECT COUNT(*) FROM audit_log").await;
        let matched = "SELECT COUNT(*) FROM issued_vouchers v JOIN audit_log a ON a.serial_number = v.serial_number \
                       AND a.idevid_issuer = v.idevid_issuer AND a.number = v.number";
        assert!(!issued.is_empty(), "{context}");
        assert_eq!(count(&masa, matched).await, entries, "a voucher has no entry, or an entry no voucher: {context}");
        assert_eq!(usize::try_from(entries).unwrap(), issued.len(), "two vouchers are the same: {context}");

        let registrar = open(&folder.join("plant/registrar.db")).await;
        let received = blobs(&registrar, "SELECT voucher FROM requests WHERE voucher IS NOT NULL").await;
        assert!(!received.is_empty() && received.is_subset(&issued), "{context}");
        let joined = "SELECT COUNT(*) FROM joinings j JOIN certificates c ON c.certificate_sha256 = j.ldevid \
                      WHERE j.audit = 'good' AND j.voucher_status = 1 AND j.enroll_status = 1";
        assert_eq!(count(&registrar, joined).await, 1, "{context}");
        let certificates = blobs(&registrar, "SELECT certificate FROM certificates").await;
        let ldevid = terse_net::files::read_certificates(folder.join("credential/ldevid.pem")).unwrap();
        assert!(certificates.contains(&ldevid[0].to_vec()), "the device has a certificate without an entry: {context}");
    });
}

async fn open(path: &Path) -> SqlitePool {
    SqlitePool::connect_with(SqliteConnectOptions::new().filename(path)).await.unwrap()
}

async fn count(database: &SqlitePool, query: &str) -> i64 {
    sqlx::query(query).fetch_one(database).await.unwrap().get(0)
}

async fn blobs(database: &SqlitePool, query: &str) -> BTreeSet<Vec<u8>> {
    sqlx::query(query).fetch_all(database).await.unwrap().iter().map(|row| row.get(0)).collect()
}
