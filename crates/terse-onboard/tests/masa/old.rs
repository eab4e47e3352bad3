//! Databases that earlier versions have written.

use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use terse_onboard::masa::{MasaConfig, MasaStore, VerifyOptions, verify_log};

#[tokio::test]
async fn a_database_of_an_earlier_version_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("masa.db");
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true).foreign_keys(false);
    let mut old = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql(include_str!("../old/masa.sql")).execute(&mut old).await.unwrap();
    old.close().await.unwrap();

    let store = MasaStore::open(&path.clone().into()).await.unwrap();
    let records = store.devices(super::scene::SERIAL).await.unwrap();
    assert_eq!((records.len(), records[0].entries), (1, 1));
    assert!(records[0].is_registered && records[0].device.owner.is_some());
    assert!(!records[0].device.raw_public_keys_only);
    let log = store.newest(&records[0].device, 10).await.unwrap();
    assert_eq!(log[0].nonce.as_ref().unwrap().as_bytes(), b"a nonce");
    store.close().await;

    // Its entry is the first link.
    let text = "listen = \"[::]:0\"\ndatabase = \"masa.db\"\ntls = { chain = \"\", key = \"\" }\n\
                voucher_signer = { chain = \"\", key = \"\" }\nmanufacturer = { anchors = \"\", masa_url = \"masa.example\" }";
    let config = MasaConfig::parse(&path.with_file_name("masa.toml"), text).unwrap();
    let head = verify_log(&config, &VerifyOptions::default(), &mut |_, _| ()).await.unwrap();
    assert_eq!(head.length, 1);
}
