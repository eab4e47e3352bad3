//! What the services have on record in the end.

use std::collections::BTreeSet;

use super::devices::Joined;
use super::scene::Scene;

/// Counts of what is on record.
pub(super) struct Books {
    pub(super) audit_entries: u64,
    pub(super) certificates: u64,
}

/// Checks that nothing is missing, and nothing is there twice.
pub(super) fn check(scene: &Scene, joined: &Joined) -> Result<Books, String> {
    let devices = joined.each.len() as u64;
    let masa = |statement: &str| count(scene, "masa", statement);
    let registrar = |statement: &str| count(scene, "registrar", statement);
    let audit_entries = masa("SELECT count(*) FROM audit_log")?;
    let certificates = registrar("SELECT count(*) FROM certificates")?;
    let unlike = joined.certificates.iter().collect::<BTreeSet<_>>().len() as u64;
    let must_be = [
        ("devices that the registrar knows to be enrolled", registrar(ENROLLED)?, devices),
        (
            "devices with an entry in the audit log",
            masa("SELECT count(DISTINCT serial_number) FROM audit_log")?,
            devices,
        ),
        ("vouchers for a nonce that has one already", masa(TWICE)?, 0),
        (
            "vouchers without an entry of their own",
            audit_entries.abs_diff(masa("SELECT count(*) FROM issued_vouchers")?),
            0,
        ),
        ("different certificates of devices", unlike, devices),
    ];
    for (what, found, expected) in must_be {
        if found != expected {
            return Err(format!("{what}: {found} in place of {expected}"));
        }
    }
    if audit_entries < joined.verified_vouchers as u64 {
        return Err(format!(
            "{} vouchers have left the MASA, and {audit_entries} are on record",
            joined.verified_vouchers
        ));
    }
    scene.masa(&["masa", "log", "verify"])?;
    Ok(Books { audit_entries, certificates })
}

fn count(scene: &Scene, database: &str, statement: &str) -> Result<u64, String> {
    let found = scene.postgres.query(database, statement)?;
    found.parse().map_err(|_| format!("{statement}: {found}"))
}

const ENROLLED: &str = "SELECT count(*) FROM joinings WHERE voucher_status = 1 AND enroll_status = 1";
const TWICE: &str = "SELECT count(*) FROM (SELECT 1 FROM audit_log GROUP BY serial_number, idevid_issuer, nonce HAVING count(*) > 1) AS twice";
