//! A browser for status pages: it keeps a cookie, and sends what it is told.
#![allow(dead_code)] // each of those who include this file uses a part

use std::net::SocketAddr;

use terse_net::tokio::Connector;
use terse_tls::ServerAddress;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::deadline::soon;

pub(crate) struct Browser {
    address: SocketAddr,
    tls: Option<Connector>,
    /// Name and value.
    pub(crate) cookie: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Browser {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, tls: None, cookie: None }
    }

    /// One that speaks TLS.
    pub(crate) fn with_tls(address: SocketAddr, connector: Connector) -> Self {
        Self { address, tls: Some(connector), cookie: None }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, "", "").await
    }

    /// Loads a page, which is there.
    pub(crate) async fn page(&mut self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    /// Sends the form that a page has, with these further fields.
    pub(crate) async fn submit(&mut self, page: &str, fields: &[(&str, &str)]) -> Answer {
        let form = page.split("<form").find(|form| form.contains("method=\"post\"") && !form.contains("/logout"));
        let form = form.expect("the page has a form");
        let action = attribute(form, "action");
        let mut body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        for input in form.split("<input").skip(1).filter(|input| input.contains("type=\"hidden\"")) {
            body.push(format!("{}={}", attribute(input, "name"), encoded(attribute(input, "value"))));
        }
        self.post(action, &body.join("&")).await
    }

    pub(crate) async fn post(&mut self, path: &str, body: &str) -> Answer {
        self.send("POST", path, "Content-Type: application/x-www-form-urlencoded\r\n", body).await
    }

    /// Sends a request with these further header fields.
    pub(crate) async fn send(&mut self, method: &str, path: &str, fields: &str, body: &str) -> Answer {
        let cookie = self.cookie.as_ref().map(|cookie| format!("Cookie: {cookie}\r\n")).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n{cookie}{fields}Content-Length: {}\r\n\r\n{body}",
            self.address.port(),
            body.len()
        );
        let answer = self.send_raw(&request).await;
        let set = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        if let Some(set) = set {
            assert!(set.contains("; HttpOnly; SameSite=Strict"), "{set}");
            assert_eq!(set.starts_with("__Host-") && set.ends_with("; Secure"), self.tls.is_some(), "{set}");
            self.cookie = set.split(';').next().map(str::to_owned);
        }
        answer
    }

    pub(crate) async fn send_raw(&self, request: &str) -> Answer {
        let transport = TcpStream::connect(self.address).await.unwrap();
        match &self.tls {
            None => exchange(transport, request).await,
            Some(connector) => {
                let server = ServerAddress::new(self.address.ip().into(), self.address.port());
                exchange(connector.connect(server, transport).await.unwrap(), request).await
            }
        }
    }
}

impl Answer {
    /// The value of a header field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> Answer {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = soon(stream.read_to_end(&mut answer)).await; // whoever has not read all closes with a reset
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.replace("\r\n", "\n"), body: body.into() }
}

/// The value of an attribute of HTML, as this service writes it.
pub(crate) fn attribute<'a>(tag: &'a str, name: &str) -> &'a str {
    let (_, rest) = tag.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("{name} in {tag}"));
    rest.split('"').next().unwrap()
}

/// The address of the next page, if there is one.
pub(crate) fn next(page: &str) -> Option<String> {
    let link = page.split("<a ").find(|link| link.contains("rel=\"next\""))?;
    Some(attribute(&format!(" {link}"), "href").replace("&amp;", "&"))
}

pub(crate) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
