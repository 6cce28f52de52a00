import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

import org.apache.kafka.common.utils.Exit;

/**
 * Runs the main methods of Apache Kafka's command line tools one after another in one process: a tool takes a tenth of a
 * second so, of the two that a process of its own takes.
 *
 * A request on standard input is a class, the arguments and the tool's standard input; the answer on standard output is the
 * exit status and what the tool wrote to its two outputs. A string is its length in bytes as four bytes, big end first,
 * and its UTF-8; a list is its length and its strings.
 */
public final class Tools {
    /** What a tool's exit becomes: it unwinds to {@link #run}. An Error, since tools catch every Exception. */
    private static final class Exited extends Error {
        Exited() { super(null, null, false, false); }
    }

    private final List<Runnable> hooks = new ArrayList<>();
    private Integer status; // of the first exit: a tool may catch Exited and exit again

    public static void main(String[] args) throws IOException {
        DataInputStream requests = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream answers = new DataOutputStream(new BufferedOutputStream(System.out));
        while (true) {
            String tool;
            try {
                tool = readString(requests);
            } catch (EOFException end) {
                System.exit(0); // whatever threads a tool has left
                return;
            }
            String[] arguments = new String[requests.readInt()];
            for (int i = 0; i < arguments.length; i++) arguments[i] = readString(requests);
            String input = readString(requests);
            new Tools().answer(answers, tool, arguments, input);
        }
    }

    private void answer(DataOutputStream answers, String tool, String[] arguments, String input) throws IOException {
        InputStream stdin = System.in;
        PrintStream stdout = System.out, stderr = System.err;
        ByteArrayOutputStream out = new ByteArrayOutputStream(), err = new ByteArrayOutputStream();
        System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
        PrintStream outPrinter = print(out), errPrinter = print(err);
        Runnable capture = () -> { System.setOut(outPrinter); System.setErr(errPrinter); };
        capture.run();
        try {
            run(tool, arguments, capture);
        } finally {
            System.setIn(stdin);
            System.setOut(stdout);
            System.setErr(stderr);
        }
        answers.writeInt(status);
        writeString(answers, out);
        writeString(answers, err);
        answers.flush();
    }

    /** Calls the tool's main method, then what it registered for the end of its process, and leaves its exit status. */
    private void run(String tool, String[] arguments, Runnable capture) {
        Exit.setExitProcedure((code, message) -> exit(code));
        Exit.setHaltProcedure((code, message) -> exit(code));
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
        try {
            Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof Exited)) fail(e.getCause());
        } catch (ReflectiveOperationException e) {
            fail(e);
        }
        capture.run();
        for (Runnable hook : hooks) hook.run();
        if (status == null) status = 0;
        System.out.flush();
        System.err.flush();
    }

    private void exit(int code) {
        if (status == null) status = code;
        System.setOut(print(OutputStream.nullOutputStream())); // what a tool says after its end, nobody hears
        System.setErr(System.out);
        throw new Exited();
    }

    /** What the virtual machine does with an exception that main throws. */
    private void fail(Throwable cause) {
        cause.printStackTrace();
        if (status == null) status = 1;
    }

    private static PrintStream print(OutputStream to) {
        return new PrintStream(to, true, StandardCharsets.UTF_8);
    }

    private static String readString(DataInputStream from) throws IOException {
        return new String(from.readNBytes(from.readInt()), StandardCharsets.UTF_8);
    }

    private static void writeString(DataOutputStream to, ByteArrayOutputStream bytes) throws IOException {
        to.writeInt(bytes.size());
        bytes.writeTo(to);
    }
}
