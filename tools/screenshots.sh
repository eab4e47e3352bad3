#!/bin/sh
# Makes pictures of all status pages, with example data: light, dark, and as wide as a telephone. It needs chromium and sqlite3;
# without them it says so, and ends.
#
#     tools/screenshots.sh [FOLDER]        # by default target/screenshots
#
# The program is target/debug/terse, or what TERSE names.
set -eu

cd "$(dirname "$0")/.."
out=${1:-target/screenshots}
terse=$(realpath "${TERSE:-target/debug/terse}")
for program in chromium sqlite3; do
    command -v "$program" >/dev/null || { echo "skipped: there is no $program here"; exit 0; }
done
test -x "$terse" || { echo "there is no $terse; run cargo build -p terse" >&2; exit 1; }

place=$(mktemp -d)
services=
trap 'for one in $services; do kill "$one" 2>/dev/null || true; done; rm -rf "$place"' EXIT
mkdir -p "$out"
out=$(realpath "$out")
cd "$place"

"$terse" masa init --out maker --name localhost --listen 127.0.0.1:0 >log
for serial in WI-3005 WI-3006 WI-3007 WI-3008; do
    "$terse" masa make-idevid $serial --config maker/masa.toml --out $serial >>log
done
"$terse" registrar init --out plant --name 127.0.0.1 --listen 127.0.0.1:0 --manufacturer maker --manufacturer-ca maker/ca/ca.pem >>log
hash=$(echo 'correct horse battery' | "$terse" registrar hash-password)
for file in maker/masa.toml plant/registrar.toml; do
    printf '\n[pages]\nlisten = "127.0.0.1:0"\n' >>$file
done
cp -r plant locked
printf '\n[[pages.user]]\nname = "alice"\npassword_hash = "%s"\n' "$hash" >>locked/registrar.toml

# Starts a service in the background, and waits until it says where it and its pages are.
start() {
    "$terse" "$1" --config "$2" >"$3.out" 2>"$3.err" &
    services="$services $!"
    until grep -q '^pages ' "$3.out"; do
        kill -0 $! || { cat "$3.err" >&2; exit 1; }
        sleep 0.1
    done
}
start masa maker/masa.toml masa
masa=$(sed -n 's/^listening //p' masa.out)
sed -i "s|^# masa_url = .*|masa_url = \"localhost:${masa##*:}\"|" plant/registrar.toml
start registrar plant/registrar.toml registrar
start registrar locked/registrar.toml locked
registrar=$(sed -n 's/^listening //p' registrar.out)

# Two devices join, and two wait.
for serial in WI-3005 WI-3006 WI-3007 WI-3008; do
    "$terse" pledge --config $serial/$serial.toml --registrar "$registrar" >$serial.out 2>&1 &
    services="$services $!"
done
until test "$("$terse" registrar pending --config plant/registrar.toml --json | wc -l)" = 4; do sleep 0.2; done
for serial in WI-3005 WI-3006; do
    "$terse" registrar accept $serial --config plant/registrar.toml >>log
    # It would come again only after a minute.
    "$terse" pledge --config $serial/$serial.toml --registrar "$registrar" --out $serial/now >>log 2>&1 || true
done

# What takes days, or goes wrong.
now=$(date +%s)
sqlite3 plant/registrar.db "
    PRAGMA busy_timeout = 10000;
    UPDATE requests SET state = 'answered' WHERE serial_number = 'WI-3008';
    UPDATE certificates SET not_after = $now + 86400 * 9 WHERE idevid = (SELECT idevid FROM joinings WHERE serial_number = 'WI-3006');
    INSERT INTO joinings (idevid, serial_number, manufacturer, request, begun, audit, audit_reason, audit_tried)
        SELECT idevid, serial_number, manufacturer, request, $now - 7200, 'bad',
        'another domain has had the device: 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567', $now - 7200
        FROM requests WHERE serial_number = 'WI-3008' LIMIT 1;
    INSERT INTO telemetry (idevid, number, received, topic, sender, status, reason, needs_attention)
        SELECT idevid, 9, $now - 600, 'voucher', 'idevid', 0, 'the pin is ' || char(8238) || ' wrong <script>alert(1)</script>', 1
        FROM joinings WHERE serial_number = 'WI-3008';
    INSERT INTO telemetry (idevid, number, received, topic, sender, status, reason, needs_attention)
        SELECT idevid, 8, $now - 900, 'enrolment', 'idevid', 0, '$(printf 'a long reason %.0s' 1 2 3 4 5 6 7 8 9 10 11 12)', 1
        FROM joinings WHERE serial_number = 'WI-3008';
" >>log
"$terse" masa block WI-3008 --config maker/masa.toml >>log

id() { sqlite3 plant/registrar.db "SELECT lower(hex(idevid)) FROM requests WHERE serial_number = '$1' LIMIT 1"; }
issuer=$(sqlite3 maker/masa.db "SELECT lower(hex(idevid_issuer)) FROM devices WHERE serial_number = 'WI-3005'")
at_registrar=http://$(sed -n 's/^pages //p' registrar.out)
at_masa=http://$(sed -n 's/^pages //p' masa.out)
at_locked=http://$(sed -n 's/^pages //p' locked.out)

# Takes the pictures of a page: its name, its address.
picture() {
    for kind in light dark telephone; do
        size=1280,1700 options=
        case $kind in
            dark) options='--force-dark-mode --enable-features=WebUIDarkMode --blink-settings=preferredColorScheme=0' ;;
            telephone) size=500,2600 ;;
        esac
        # shellcheck disable=SC2086 # several options
        chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$place/browser" $options \
            --window-size=$size --screenshot="$out/$1-$kind.png" "$2" >>log 2>&1
    done
    echo "$out/$1"
}
picture registrar-overview "$at_registrar/"
picture registrar-waiting "$at_registrar/waiting"
picture registrar-devices "$at_registrar/devices"
picture registrar-device "$at_registrar/device?id=$(id WI-3005)"
picture registrar-bad-device "$at_registrar/device?id=$(id WI-3008)"
picture registrar-accept "$at_registrar/device/accept?id=$(id WI-3007)"
picture registrar-certificates "$at_registrar/certificates"
picture registrar-failures "$at_registrar/failures"
picture registrar-login "$at_locked/login"
picture registrar-missing "$at_registrar/missing"
picture masa-overview "$at_masa/"
picture masa-devices "$at_masa/devices"
picture masa-device "$at_masa/device?serial=WI-3005&issuer=$issuer"
picture masa-block "$at_masa/device/block?serial=WI-3005&issuer=$issuer"
picture masa-vouchers "$at_masa/vouchers"
