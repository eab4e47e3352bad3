use std::path::Path;

use serde::Deserialize;

use super::*;
use crate::store::Database;

fn server(url: &str) -> Result<Server, InvalidServer> {
    url.parse()
}

#[test]
fn a_configuration_names_a_file_or_a_server() {
    let config = Path::new("/etc/terse/registrar.toml");
    let database = |text: &str| Database::try_from(text.to_owned()).unwrap().beside(config).to_string();
    assert_eq!(database("registrar.db"), "/etc/terse/registrar.db");
    assert_eq!(database("/var/lib/registrar.db"), "/var/lib/registrar.db");
    assert_eq!(database("postgres://plant:secret@db.example/registrar"), "postgres://db.example/registrar");
    assert_eq!(database("postgresql://plant@%2Frun%2Fpg/registrar"), "postgres:///run/pg/registrar");
    assert_eq!(database("postgres:///registrar?host=/run/pg"), "postgres:///run/pg/registrar");
}

#[test]
fn what_is_wrong_with_a_url_is_said_without_a_word_of_it() {
    for (url, expected) in [
        ("postgres://", InvalidServer::Name),
        ("postgres://plant:hunter2@db.example", InvalidServer::Name),
        ("postgres://plant:12/hunter2@db.example/name", InvalidServer::Name),
        ("postgres://plant:hun/ter2@db.example/name", InvalidServer::Url),
        ("postgres://plant:1?hunter2@db.example/name", InvalidServer::Name),
        ("postgres://plant:1#hunter2@db.example/name", InvalidServer::Fragment),
        ("mysql://plant:hunter2@db.example/name", InvalidServer::Scheme),
        ("sqlite://hunter2.db", InvalidServer::Scheme),
        ("postgres://plant@db.example/name?password=hunter2", InvalidServer::Parameter),
        ("postgres://plant@db.example/name?pasword=hunter2", InvalidServer::Parameter),
        ("postgres://plant@db.example/name?sslmode=disable&sslmode=require", InvalidServer::Parameter),
        ("postgres://plant@db.example/name?sslmode=hunter2", InvalidServer::Value),
    ] {
        assert_eq!(server(url), Err(expected), "{url}");
        let text = format!("database = \"{url}\"");
        let error = crate::config::parse::<Settings>(Path::new("a.toml"), &text).unwrap_err().to_string();
        assert!(error.starts_with("a.toml: line 1: ") && !error.contains("hunter2"), "{error}");
    }
}

#[derive(Debug, Deserialize)]
struct Settings {
    database: Database,
}

#[test]
fn a_password_is_neither_displayed_nor_debugged() {
    let text = "database = \"postgres://plant:hunter2@db.example/name?application_name=hunter2\"";
    let settings: Settings = crate::config::parse(Path::new("a.toml"), text).unwrap();
    let shown = format!("{settings:?} {} {}", settings.database, settings.database.error("is wrong"));
    assert!(shown.contains("db.example/name: is wrong") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn a_server_elsewhere_is_verified_unless_the_configuration_says_otherwise() {
    for (url, mode, is_protected) in [
        ("postgres://plant@db.example/name", Some("verify-full"), true),
        ("postgres://plant@192.0.2.1/name?application_name=a", Some("verify-full"), true),
        ("postgres://plant@db.example/name?sslmode=verify-full", Some("verify-full"), true),
        ("postgres://plant@db.example/name?sslmode=verify-ca", Some("verify-ca"), false),
        ("postgres://plant@db.example/name?sslmode=disable", Some("disable"), false),
        ("postgres://plant@localhost/name", None, true),
        ("postgres://plant@[::1]/name", None, true),
        ("postgres://plant@%2Frun%2Fpg/name", None, true),
    ] {
        let server = server(url).unwrap();
        let url_with = server.options().unwrap().database_url;
        let modes: Vec<_> = url_with.query_pairs().filter(|(key, _)| key == "sslmode").map(|(_, mode)| mode).collect();
        assert_eq!(modes, Vec::from_iter(mode), "{url}");
        assert_eq!(server.is_protected(), is_protected, "{url}");
    }
}
