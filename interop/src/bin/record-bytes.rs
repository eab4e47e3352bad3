//! Prints what handshakes cost on the wire: `cargo run -p terse-interop --bin record-bytes [-- --json]`.

use std::process::ExitCode;

use terse_interop::bytes::{self, Row};
use terse_interop::peer::Peer;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = match &arguments[..] {
        [] => false,
        [argument] if argument == "--json" => true,
        _ => {
            eprintln!("usage: record-bytes [--json]");
            return ExitCode::from(2);
        }
    };
    for peer in Peer::ALL {
        match peer.version() {
            Ok(version) if !json => println!("{:9} {version}", peer.name()),
            Ok(_) => {}
            Err(reason) => eprintln!("{} is left out: {reason}", peer.name()),
        }
    }
    let print = if json { print_json } else { print_table };
    print(
        "small",
        "TLS 1.3, mutual authentication, P-256 certificates (chain of three), x25519, AES-128-CCM, one suite, group and \
         signature scheme, no server name",
        &bytes::small(),
    );
    print(
        "rsa",
        "TLS 1.3, mutual authentication, RSA-2048 certificates (chain of three), default settings",
        &bytes::rsa(),
    );
    print(
        "defaults",
        "TLS 1.3 in full, mutual authentication, each implementation with itself and its default settings",
        &bytes::defaults(),
    );
    print(
        "baselines",
        "Mutual authentication, key exchange with P-256, AES-128-GCM, each implementation with itself",
        &bytes::baselines(),
    );
    print(
        "datagrams",
        "DTLS 1.2 with a cookie, mutual authentication, key exchange with P-256, AES-128-GCM, each implementation with \
         itself",
        &bytes::datagrams(),
    );
    ExitCode::SUCCESS
}

fn print_table(_: &str, title: &str, rows: &[Row]) {
    println!("\n{title}: record bytes\n");
    println!(
        "{:14}{:9}{:14}{:9}{:>8}{:>8}{:>8}{:>10}{:>9}",
        "", "version", "certificates", "", "client", "server", "both", "at most", "tickets"
    );
    for row in rows {
        let Row { name, certificates, resumed, cost, .. } = row;
        let worst = cost.at_most().map(|worst| worst.to_string()).unwrap_or_default();
        let (client, server, total) = (cost.client, cost.server, cost.total());
        let tickets = if cost.tickets > 0 { cost.tickets.to_string() } else { String::new() };
        let version = row.protocol();
        let mode = if *resumed { "resumed" } else { "full" };
        let numbers = format!("{client:8}{server:8}{total:8}{worst:>10}{tickets:>9}");
        println!("{}", format!("{name:14}{version:9}{certificates:14}{mode:9}{numbers}").trim_end());
    }
}

fn print_json(table: &str, _: &str, rows: &[Row]) {
    for row in rows {
        let Row { name, certificates, resumed, cost, .. } = row;
        let row = serde_json::json!({
            "table": table, "name": name, "certificates": certificates, "version": row.protocol(),
            "resumed": resumed, "client": cost.client, "server": cost.server, "total": cost.total(),
            "at_most": cost.at_most(), "tickets": cost.tickets,
        });
        println!("{row}");
    }
}
