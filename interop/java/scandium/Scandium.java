import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.eclipse.californium.elements.AddressEndpointContext;
import org.eclipse.californium.elements.EndpointContext;
import org.eclipse.californium.elements.RawData;
import org.eclipse.californium.elements.RelaxedDtlsEndpointContextMatcher;
import org.eclipse.californium.scandium.DTLSConnector;
import org.eclipse.californium.scandium.DtlsDatagramFilter;
import org.eclipse.californium.scandium.dtls.AlertMessage;
import org.eclipse.californium.scandium.dtls.AlertMessage.AlertDescription;
import org.eclipse.californium.scandium.dtls.Connection;
import org.eclipse.californium.scandium.dtls.ContentType;
import org.eclipse.californium.scandium.dtls.DTLSContext;
import org.eclipse.californium.scandium.dtls.HandshakeException;
import org.eclipse.californium.scandium.dtls.Handshaker;
import org.eclipse.californium.scandium.dtls.Record;
import org.eclipse.californium.scandium.dtls.SessionListener;

/**
 * A small client and server on Scandium: DTLS 1.2 with connection IDs. It takes the words that the programs in C take
 * (`../../c/peer.h`), and says the same things.
 */
public final class Scandium {
    /** What the command line asks for. */
    static final Map<String, String> words = new HashMap<>();

    /** What has happened to the connection, in order: data is written elsewhere. */
    private static final BlockingQueue<String> events = new LinkedBlockingQueue<>();

    private static volatile EndpointContext peer;

    /** Whether we have closed, and the answer has not come yet. */
    private static volatile boolean closing;

    /** Whether there is a connection that takes data: from the end of its handshake until we close. */
    private static volatile boolean established;

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("version")) {
            System.out.println("Scandium " + version());
            return;
        }
        for (String word : Arrays.copyOfRange(arguments, 1, arguments.length)) {
            int equals = word.indexOf('=');
            words.put(word.substring(0, equals), word.substring(equals + 1));
        }
        boolean server = arguments[0].equals("server");
        DTLSConnector connector = new DTLSConnector(Settings.of(server, new Events(), new Answers()));
        connector.setRawDataReceiver(Scandium::receive);
        connector.setAlertHandler((address, alert) -> {
            if (alert.getDescription() != AlertDescription.CLOSE_NOTIFY) {
                say("alert received " + Byte.toUnsignedInt(alert.getDescription().getCode()));
            } else if (established) { // otherwise it answers ours
                events.add("closed");
            }
        });
        connector.start();
        if (server) {
            say("listening " + connector.getAddress().getPort());
        } else {
            connect(connector);
        }
        Thread orders = new Thread(() -> obey(connector));
        orders.setDaemon(true);
        orders.start();
        boolean well = true;
        for (int left = Integer.parseInt(words.get("connections")); left > 0; left--) {
            well &= await(connector);
            if (!server && left > 1) {
                connector.forceResumeSessionFor(address());
                connect(connector);
            }
        }
        connector.stop();
        System.exit(well ? 0 : 1);
    }

    /** Waits for the end of one connection. Returns whether it went well. */
    private static boolean await(DTLSConnector connector) throws InterruptedException {
        String event = events.take();
        if (event.equals("closed")) {
            say("closed by the peer");
        } else if (event.startsWith("failed")) {
            say(event);
        }
        say("over");
        return !event.startsWith("failed");
    }

    private static InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(words.get("port")));
    }

    /** Begins the handshake, with a message that is not sent then. */
    private static void connect(DTLSConnector connector) {
        EndpointContext held = new AddressEndpointContext(address(), words.get("name"), null);
        peer = new AddressEndpointContext(address(), words.get("name"), null);
        connector.setEndpointContextMatcher(new Beginning(held));
        connector.send(RawData.outbound(new byte[0], held, null, false));
    }

    private static synchronized void setEstablished(boolean value) {
        established = value;
        Scandium.class.notifyAll();
    }

    /**
     * Waits for a connection that takes data. A line for the next one comes while the last one is still being closed, and
     * Scandium would drop it, or begin a handshake for it beside the one of {@link #connect}.
     */
    private static synchronized void awaitConnection() throws InterruptedException {
        while (!established) {
            Scandium.class.wait();
        }
    }

    /** Lets a message cause a handshake, and holds it back once there is a connection. */
    private static final class Beginning extends RelaxedDtlsEndpointContextMatcher {
        private final EndpointContext held;

        Beginning(EndpointContext held) {
            this.held = held;
        }

        @Override
        public boolean isToBeSent(EndpointContext message, EndpointContext connection) {
            return message != held || connection == null;
        }
    }

    private static void receive(RawData data) {
        peer = data.getEndpointContext();
        System.out.write(data.getBytes(), 0, data.getSize());
        System.out.flush();
    }

    /** Sends the lines of standard input, and does what those order that begin with an exclamation mark. */
    private static void obey(DTLSConnector connector) {
        try {
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            for (int next; (next = System.in.read()) >= 0; ) {
                line.write(next);
                if (next == '\n') {
                    awaitConnection();
                    if (line.toString(StandardCharsets.UTF_8).equals("!close\n")) {
                        closing = true;
                        setEstablished(false);
                        connector.close(peer.getPeerAddress());
                    } else {
                        connector.send(RawData.outbound(line.toByteArray(), peer, null, false));
                    }
                    line.reset();
                }
            }
        } catch (IOException | InterruptedException error) {
            say("failed: " + error);
        }
    }

    /** Writes a line to standard error. */
    static void say(String line) {
        System.err.println(line);
    }

    private static String version() throws IOException {
        String jar = DTLSConnector.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        return jar.substring(jar.lastIndexOf('-') + 1, jar.lastIndexOf('.'));
    }

    /**
     * Reports the alert that answers ours, which ends a connection. All connections of a client are one to Scandium, and of
     * one it reports the first alert alone.
     */
    private static final class Answers extends DtlsDatagramFilter {
        @Override
        public boolean onReceiving(Record record, Connection connection) {
            if (closing && record.getType() == ContentType.ALERT) {
                closing = false;
                events.add("closed by us");
            }
            return super.onReceiving(record, connection);
        }
    }

    /** Reports how handshakes end. */
    private static final class Events implements SessionListener {
        @Override
        public void handshakeStarted(Handshaker handshaker) {}

        @Override
        public void contextEstablished(Handshaker handshaker, DTLSContext context) {
            say("suite " + Integer.toHexString(context.getSession().getCipherSuite().getCode()));
            say("resumed " + (handshaker.isFullHandshake() ? "no" : "yes"));
            setEstablished(true);
        }

        @Override
        public void handshakeCompleted(Handshaker handshaker) {
            String label = words.get("exporter");
            if (label != null) {
                byte[] bytes = label.getBytes(StandardCharsets.UTF_8);
                byte[] exported = handshaker.getDtlsContext().exportKeyMaterial(bytes, null, 32);
                say("keying material " + HexFormat.of().formatHex(exported));
            }
            if (handshaker.getSession().getHostName() != null) {
                say("server name " + handshaker.getSession().getHostName());
            }
            say("connected");
        }

        @Override
        public void handshakeFailed(Handshaker handshaker, Throwable error) {
            AlertMessage alert = error instanceof HandshakeException failure ? failure.getAlert() : null;
            events.add("failed: " + error + (alert == null ? "" : ", " + alert));
        }

        @Override
        public void handshakeFlightRetransmitted(Handshaker handshaker, int flight) {
            say("flight " + flight + " again");
        }
    }
}
