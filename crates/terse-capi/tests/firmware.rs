//! The C programs for firmware: the image without an operating system in QEMU, and the examples for Zephyr and FreeRTOS as far as they
//! can be compiled here. What is missing is said, and its tests are skipped; with `TERSE_REQUIRE_ALL=1` that is a failure.

use core::time::Duration;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::shared::{self, SAFETY_LIMIT, skipped};

const TARGET: &str = "thumbv7em-none-eabihf";
const CPU: &str = "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16";
const WARNINGS: &str = "-std=gnu11 -Os -Wall -Wextra -Werror -ffunction-sections -fdata-sections";

/// Returns whether a program or file is here. What is missing is said, and may be a failure.
fn is_here(what: &str, package: &str) -> bool {
    let is_here = Path::new(what).is_absolute() && Path::new(what).exists()
        || Command::new(what).arg("--version").output().is_ok_and(|output| output.status.success());
    is_here || skipped(what, &format!("apt-get install {package}"))
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples-c")
}

/// Runs a command in the folder of the examples, and returns what it printed.
#[track_caller]
fn run(program: &str, arguments: &str) -> String {
    let mut command = Command::new(program);
    command.args(arguments.split_whitespace()).current_dir(examples());
    run_within(SAFETY_LIMIT, &mut command).unwrap_or_else(|why| panic!("{program} {arguments}: {why}"))
}

/// Runs a command, kills it if it takes longer than `limit`, and returns what it printed, also if it does not succeed.
fn run_within(limit: Duration, command: &mut Command) -> Result<String, String> {
    let mut printed = tempfile::tempfile().unwrap();
    command.stdin(Stdio::null()).stdout(printed.try_clone().unwrap()).stderr(printed.try_clone().unwrap());
    let status = shared::wait(&mut command.spawn().unwrap(), limit);
    let mut text = Vec::new();
    printed.rewind().unwrap();
    printed.read_to_end(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    match status {
        Some(status) if status.success() => Ok(text),
        Some(status) => Err(format!("{status}: {text}")),
        None => Err(format!("still running after {limit:?}: {text}")),
    }
}

#[test]
fn a_program_that_hangs_is_killed_and_what_it_printed_is_told() {
    let mut command = Command::new("sh");
    command.args(["-c", "echo begun; exec sleep 1000"]);
    let why = run_within(Duration::from_secs(2), &mut command).unwrap_err();
    assert_eq!(why, "still running after 2s: begun\n");
}

/// Builds the library as a firmware has it, but for link-time optimisation, which takes longer than all else. Returns its path.
fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let target = own.ancestors().nth(3).unwrap();
    // Not `env!("CARGO")`: without rustup around it that takes another compiler in the folder of a crate that names one.
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["rustc", "--release", "--quiet", "--locked", "-p", "terse-capi", "--lib", "--crate-type", "staticlib"])
        .arg("--no-default-features")
        .args(["--features", "firmware", "--target", TARGET, "--target-dir"])
        .arg(target)
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("TERSE_TESTING", "0")
        .env_remove("RUSTFLAGS")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join(TARGET).join("release/libterse_capi.a")
}

fn has_target() -> bool {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let sysroot = String::from_utf8(sysroot.stdout).unwrap();
    let has_it = Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).is_dir();
    has_it || skipped(TARGET, &format!("rustup target add {TARGET}"))
}

#[test]
fn an_image_in_c_connects_in_qemu_and_gives_its_memory_back() {
    if !has_target()
        || !is_here("arm-none-eabi-gcc", "gcc-arm-none-eabi libnewlib-arm-none-eabi")
        || !is_here("qemu-system-arm", "qemu-system-arm")
    {
        return;
    }
    let (library, out) = (library(), tempfile::tempdir().unwrap());
    let image = out.path().join("loopback.elf");
    let link = "-DTERSE_FIRMWARE -I../include --specs=rdimon.specs -T bare/mps2.ld -Wl,--gc-sections,-z,noexecstack";
    let sources = "bare/loopback.c bare/start.c";
    let (library, image) = (library.display(), image.display());
    run("arm-none-eabi-gcc", &format!("{CPU} {WARNINGS} {link} {sources} {library} -o {image}"));
    println!("{}", run("arm-none-eabi-size", &format!("{image}")));
    let semihosting = "-semihosting-config enable=on,target=native";
    let printed = run("qemu-system-arm", &format!("-M mps2-an386 -nographic {semihosting} -kernel {image}"));
    print!("{printed}");
    assert_eq!(printed.matches("connected, ").count(), 2, "{printed}");
    assert!(printed.trim_end().ends_with("ok"), "{printed}");
}

/// Compiles sources for a Cortex-M4, with warnings as errors, but for those in headers of others.
#[track_caller]
fn compile(includes: &str, sources: &[&str]) {
    let out = tempfile::tempdir().unwrap();
    for (number, source) in sources.iter().enumerate() {
        let object = out.path().join(format!("{number}.o"));
        let always = "-DTERSE_FIRMWARE -I../include -I. -Ideclarations/device";
        run("arm-none-eabi-gcc", &format!("{CPU} {WARNINGS} {always} {includes} -c {source} -o {}", object.display()));
    }
}

#[test]
fn the_application_for_zephyr_compiles() {
    if is_here("arm-none-eabi-gcc", "gcc-arm-none-eabi libnewlib-arm-none-eabi") {
        compile("-isystem declarations", &["zephyr/src/main.c", "device.c"]);
    }
}

#[test]
fn the_task_for_freertos_compiles() {
    if !is_here("arm-none-eabi-gcc", "gcc-arm-none-eabi libnewlib-arm-none-eabi")
        || !is_here("/usr/include/lwip/lwip/sockets.h", "liblwip-dev")
    {
        return;
    }
    let kernel = match std::env::var("FREERTOS_KERNEL") {
        Ok(kernel) => format!(
            "-isystem {kernel}/include -isystem {kernel}/portable/GCC/ARM_CM4F -isystem {kernel}/examples/template_configuration"
        ),
        Err(_) => "-isystem declarations/freertos".to_owned(),
    };
    compile(
        &format!("{kernel} -isystem declarations/lwip -isystem /usr/include/lwip -Ifreertos"),
        &["freertos/main.c", "device.c"],
    );
}
