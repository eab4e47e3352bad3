//! `terse pkg` is the private key generator (PKG) of identity keys. `terse-ibc` does the work; the arguments, the files and
//! the report are here.
//!
//! What must always hold: the secret and the keys are written with mode 0600; a secret that is there is never replaced
//! without being asked for.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use terse_ibc::files::{KeyFile, parameters_to_pem};
use terse_ibc::{Generator, IssueError};
use terse_net::OsRng;
use terse_net::files::read_passphrase;
use terse_pki::write_file;
use terse_tls::identity::{Identity, IdentityAlgorithm, IdentityParameters};
use zeroize::Zeroizing;

use crate::credentials::{failed, in_file};
use crate::failure::Failure;
use crate::identities::{read_denied, read_key};
use crate::output;

mod secret;

#[derive(Debug, Subcommand)]
pub(crate) enum PkgCommand {
    /// Make a new generator: its secret, and the parameters that name it
    #[command(after_help = "Example: terse pkg init --out plant-pkg\n\
        writes plant-pkg/pkg.pem, the secret, and plant-pkg/parameters.pem.")]
    Init(Init),
    /// Print the parameters: algorithm, authority, epoch and its end
    #[command(after_help = "Example: terse pkg public --pkg plant-pkg")]
    Public(Public),
    /// Make the key of an identity
    #[command(
        after_help = "Example: terse pkg extract eui64:0200000000000017 --with dns:broker.example --out device.id\n\
        writes device.id, for `terse client --identity-key device.id`. With --with it also has the public part of the\n\
        broker's key, which the broker then need not send."
    )]
    Extract(Extract),
    /// Begin the next epoch with the same secret: keys must be extracted anew
    #[command(after_help = "Example: terse pkg rotate --pkg plant-pkg --days 90\n\
        Servers get a key of the new epoch first, beside the old one; then clients get theirs.")]
    Rotate(Renew),
    /// Begin the next epoch with a new secret, because the old one may be known to somebody
    #[command(after_help = "Example: terse pkg rekey --pkg plant-pkg --days 365")]
    Rekey(Renew),
    /// Put an identity on the list of those that are refused at once
    #[command(after_help = "Example: terse pkg deny eui64:0200000000000017 --pkg plant-pkg\n\
        adds it to plant-pkg/denied.txt, for `terse server --deny plant-pkg/denied.txt`, which reads it again.")]
    Deny(Deny),
}

/// The first line of a passphrase file.
type Passphrase = Zeroizing<Vec<u8>>;

/// The generator of a command.
#[derive(Debug, Args)]
struct Pkg {
    /// The directory of the generator
    #[arg(long, value_name = "DIR", default_value = "pkg")]
    pkg: PathBuf,
    /// The passphrase of the secret is the first line of this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Key algorithm: id3dh-ristretto255, for devices; or id3dh-bls12381, for first contact with nothing but a name
    #[arg(long, value_name = "NAME", value_parser = algorithm, default_value = "id3dh-ristretto255")]
    algorithm: IdentityAlgorithm,
    /// How long the first epoch lasts
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
    /// The directory to write
    #[arg(long, value_name = "DIR", default_value = "pkg")]
    out: PathBuf,
    /// Encrypt the secret with the first line of this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Replace the generator that is there
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Public {
    #[command(flatten)]
    pkg: Pkg,
}

#[derive(Debug, Args)]
pub(crate) struct Extract {
    /// The identity: dns:NAME, device:NAME or eui64:DIGITS
    identity: Identity,
    /// Put the public part of this peer's key into the file: an identity of this generator, or its key file (repeatable)
    #[arg(long = "with", value_name = "ID|FILE")]
    with: Vec<String>,
    /// The file to write [default: the bytes of the identity, with the ending .id]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file that is there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pkg: Pkg,
}

#[derive(Debug, Args)]
pub(crate) struct Renew {
    /// How long the new epoch lasts
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
    #[command(flatten)]
    pkg: Pkg,
}

#[derive(Debug, Args)]
pub(crate) struct Deny {
    /// The identity: dns:NAME, device:NAME or eui64:DIGITS
    identity: Identity,
    /// Take it off the list
    #[arg(long)]
    remove: bool,
    /// The directory of the generator
    #[arg(long, value_name = "DIR", default_value = "pkg")]
    pkg: PathBuf,
}

/// The files in the directory of a generator.
const SECRET: &str = "pkg.pem";
const PARAMETERS: &str = "parameters.pem";
const DENIED: &str = "denied.txt";

/// The first line of a list of denied identities.
const DENIED_HEAD: &str = "# Denied identities, one in each line. Servers read this file again when it changes.";

pub(crate) fn run(command: PkgCommand, json: bool) -> Result<(), Failure> {
    match command {
        PkgCommand::Init(init) => init.run(json),
        PkgCommand::Public(Public { pkg }) => report(pkg.load()?.0.parameters(), &[], json),
        PkgCommand::Extract(extract) => extract.run(json),
        PkgCommand::Rotate(renew) => renew.run(json, Generator::rotate),
        PkgCommand::Rekey(renew) => renew.run(json, |generator, not_after| generator.rekey(not_after, &mut OsRng)),
        PkgCommand::Deny(deny) => deny.run(json),
    }
}

impl Init {
    fn run(self, json: bool) -> Result<(), Failure> {
        let generator = Generator::new(self.algorithm, 1, end_of_epoch(self.days)?, &mut OsRng).map_err(failed)?;
        let passphrase = self.passphrase_file.map(read_passphrase).transpose().map_err(failed)?;
        std::fs::create_dir_all(&self.out)
            .map_err(|error| in_file(&self.out, format!("cannot be made: {error}; choose another directory")))?;
        let written = save(&self.out, &generator, passphrase.as_ref(), self.force)?;
        report(generator.parameters(), &written, json)
    }
}

impl Pkg {
    /// Loads the generator, and its passphrase.
    fn load(&self) -> Result<(Generator, Option<Passphrase>), Failure> {
        let passphrase = self.passphrase_file.as_ref().map(read_passphrase).transpose().map_err(failed)?;
        let path = self.pkg.join(SECRET);
        if !path.exists() {
            return Err(in_file(&path, "there is no generator; make one with terse pkg init, or name its --pkg"));
        }
        let generator = secret::read(&path, passphrase.as_ref())?;
        Ok((generator, passphrase))
    }
}

impl Extract {
    fn run(self, json: bool) -> Result<(), Failure> {
        let (generator, _) = self.pkg.load()?;
        let known_peers = self.with.iter().map(|peer| public_part(&generator, peer)).collect::<Result<Vec<_>, _>>()?;
        let key = generator.extract(&self.identity).map_err(failed)?;
        let file = KeyFile { key, known_peers };
        let out = match self.out {
            Some(out) => out,
            None => default_name(&self.identity),
        };
        let pem = file.to_pem().map_err(|error| in_file(&out, error))?;
        write_file(&out, pem.as_bytes(), true, self.force).map_err(failed)?;
        report(generator.parameters(), &[(out, "identity key")], json)
    }
}

/// Returns the identity and the public part of a peer's key: of an identity, or of a key file.
fn public_part(generator: &Generator, peer: &str) -> Result<(Identity, Vec<u8>), Failure> {
    if generator.parameters().algorithm().public_part_len() == 0 {
        let algorithm = generator.parameters().algorithm();
        return Err(Failure::Usage(format!("--with: keys of {algorithm} have no public part; leave it out")));
    }
    let key = match peer.parse::<Identity>() {
        Ok(identity) => generator.issue(&identity).map_err(failed)?,
        Err(_) if Path::new(peer).exists() => read_key(Path::new(peer))?.key,
        Err(error) => return Err(Failure::Usage(format!("--with {peer}: no such file, and no identity: {error}"))),
    };
    if key.parameters() != generator.parameters() {
        return Err(Failure::Failed(format!("{peer}: the key is of another generator or epoch; extract it anew")));
    }
    Ok((key.identity().clone(), key.public_part().into()))
}

impl Renew {
    fn run(self, json: bool, renew: impl FnOnce(&mut Generator, u64) -> Result<(), IssueError>) -> Result<(), Failure> {
        let (mut generator, passphrase) = self.pkg.load()?;
        renew(&mut generator, end_of_epoch(self.days)?).map_err(failed)?;
        let written = save(&self.pkg.pkg, &generator, passphrase.as_ref(), true)?;
        report(generator.parameters(), &written, json)
    }
}

impl Deny {
    fn run(self, json: bool) -> Result<(), Failure> {
        let path = self.pkg.join(DENIED);
        let mut denied = if path.exists() { read_denied(&path)? } else { Vec::new() };
        let before = denied.len();
        denied.retain(|identity| *identity != self.identity);
        if self.remove && denied.len() == before {
            return Err(in_file(&path, format!("{} is not on the list", self.identity)));
        }
        if !self.remove {
            denied.push(self.identity);
        }
        let lines: String = denied.iter().map(|identity| format!("{identity}\n")).collect();
        write_file(&path, format!("{DENIED_HEAD}\n{lines}").as_bytes(), false, true).map_err(failed)?;
        if json {
            let denied: Vec<_> = denied.iter().map(ToString::to_string).collect();
            return output::json(&serde_json::json!({ "written": [path.display().to_string()], "denied": denied }));
        }
        output::line(format_args!("{}  {}", path.display(), output::count(denied.len() as u32, "denied identity")))
    }
}

/// Writes the secret and the parameters. Returns the files, and what they are.
fn save(
    directory: &Path,
    generator: &Generator,
    passphrase: Option<&Passphrase>,
    overwrite: bool,
) -> Result<Vec<(PathBuf, &'static str)>, Failure> {
    let [secret, parameters] = [SECRET, PARAMETERS].map(|name| directory.join(name));
    let pem = secret::to_pem(generator, passphrase)?;
    write_file(&secret, pem.as_bytes(), true, overwrite).map_err(failed)?;
    write_file(&parameters, parameters_to_pem(generator.parameters()).as_bytes(), false, true).map_err(failed)?;
    Ok(vec![(secret, "secret of the generator"), (parameters, "parameters, which are public")])
}

/// Returns a file name that has no character with a meaning for a shell.
fn default_name(identity: &Identity) -> PathBuf {
    let name: String = identity
        .to_string()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-.".contains(c) { c } else { '_' })
        .collect();
    PathBuf::from(format!("{name}.id"))
}

fn report(parameters: &IdentityParameters, written: &[(PathBuf, &str)], json: bool) -> Result<(), Failure> {
    let paths: Vec<_> = written.iter().map(|(path, _)| path.display().to_string()).collect();
    let authority = parameters.authority().to_string();
    let (algorithm, epoch, not_after) = (parameters.algorithm().name(), parameters.epoch(), parameters.not_after());
    if json {
        return output::json(&serde_json::json!({
            "written": paths, "algorithm": algorithm, "authority": authority, "epoch": epoch, "not_after": not_after,
        }));
    }
    let width = paths.iter().map(|path| path.chars().count()).max().unwrap_or(0);
    for (path, (_, content)) in paths.iter().zip(written) {
        output::line(format_args!("{path:width$}  {content}"))?;
    }
    let end = time::OffsetDateTime::from_unix_timestamp(not_after.try_into().unwrap_or(i64::MAX))
        .map_or_else(|_| not_after.to_string(), |end| end.date().to_string());
    output::line(format_args!("{algorithm}, authority {authority}, epoch {epoch} until {end}"))
}

fn end_of_epoch(days: u32) -> Result<u64, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_err(|_| Failure::Failed("the clock stands before 1970; set it".into()))?;
    Ok(now.as_secs() + u64::from(days) * 86_400)
}

fn algorithm(name: &str) -> Result<IdentityAlgorithm, String> {
    IdentityAlgorithm::ALL
        .into_iter()
        .find(|algorithm| algorithm.name() == name)
        .ok_or_else(|| "use id3dh-ristretto255 or id3dh-bls12381".into())
}
