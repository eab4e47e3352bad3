//! `terse-bench axum` measures an axum server over the streams of `terse-net`, beside the same server over tokio-rustls:
//! TLS 1.3, AES-128-GCM, X25519, both with AWS-LC, the same certificate on P-256, the same client.
//!
//! Each server has a thread of its own, whose CPU time counts: with one client in the same process, the client is what
//! limits the requests in a second. Rounds alternate between the servers, so that other load of the machine affects both.
//!
//! What must always hold: a request counts only if its answer was right, and its handshake was of the expected kind.

use core::time::Duration;

use client::Client;
use server::Server;

use crate::table::{lay_out, thousands};

mod client;
mod server;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How often each server is measured in each mode.
    pub rounds: usize,
    /// How long each time.
    pub slice: Duration,
}

/// The kind of connection that a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A new one for each request, with a full handshake.
    Full,
    /// A new one for each request, which resumes a session.
    Resumed,
    /// One that is kept for all requests of a worker.
    Kept,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Full, Self::Resumed, Self::Kept];

    const fn label(self) -> &'static str {
        match self {
            Self::Full => "new connections, full",
            Self::Resumed => "new connections, resumed",
            Self::Kept => "kept connections",
        }
    }
}

/// What one server did in one slice.
struct Slice {
    requests: f64,
    seconds: f64,
    cpu_seconds: f64,
}

/// Returns the table. A ratio above 1 is better for Terse.
pub fn measure(effort: Effort) -> Result<String, String> {
    let world = server::World::new()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(text)?;
    let header = ["axum, TLS 1.3, P-256", "terse", "tokio-rustls", "terse : tokio-rustls"];
    let mut per_cpu = vec![header.map(str::to_owned).to_vec()];
    let mut per_second = Vec::new();
    for kind in Kind::ALL {
        let servers = [Server::terse(&world, kind)?, Server::tokio_rustls(&world, kind)?];
        let clients = servers.each_ref().map(|server| Client::new(&world, server.address, kind));
        let clients = clients.into_iter().collect::<Result<Vec<_>, String>>()?;
        let mut slices = [Vec::new(), Vec::new()];
        // The first round warms up, and does not count.
        for round in 0..=effort.rounds {
            eprintln!("{}, round {round} of {}", kind.label(), effort.rounds);
            for number in [round % 2, 1 - round % 2] {
                let slice = runtime.block_on(run(&servers[number], &clients[number], effort.slice))?;
                slices[number].extend((round > 0).then_some(slice));
            }
        }
        per_cpu.push(row(&format!("requests/CPU s of the server, {}", kind.label()), &slices, |slice| {
            slice.requests / slice.cpu_seconds
        }));
        per_second.push(row(&format!("requests/s, {}", kind.label()), &slices, |slice| slice.requests / slice.seconds));
    }
    per_cpu.extend(per_second);
    Ok(lay_out(&per_cpu))
}

async fn run(server: &Server, client: &Client, slice: Duration) -> Result<Slice, String> {
    let (before, begun) = (server.cpu_seconds().await?, std::time::Instant::now());
    let requests = client.run(slice).await?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Slice { requests: f64::from(requests), seconds, cpu_seconds: server.cpu_seconds().await? - before })
}

fn row(label: &str, slices: &[Vec<Slice>; 2], value: impl Fn(&Slice) -> f64) -> Vec<String> {
    let values = slices.each_ref().map(|slices| {
        let mut values: Vec<f64> = slices.iter().map(&value).collect();
        values.sort_by(f64::total_cmp);
        values
    });
    let median = |values: &Vec<f64>| (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
    let cell = |values: &Vec<f64>| {
        let spread = (values[values.len() - 1] - values[0]) / 2.0 / median(values) * 100.0;
        format!("{} ±{spread:.0}%", thousands(median(values).round() as u64)) // none is negative
    };
    let [ours, theirs] = &values;
    vec![label.to_owned(), cell(ours), cell(theirs), format!("{:.2}", median(ours) / median(theirs))]
}

pub(crate) fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}
