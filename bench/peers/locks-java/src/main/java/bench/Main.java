package bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Locks of Java, driven as a worker of the benchmark is ({@code src/worker.rs}): orders come as lines of JSON on the
 * standard input, answers go the same way, and the program ends when its input does.
 */
public final class Main {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private Lock.System system;
    private Lock lock;
    private Lock.Held held;

    /** Obeys until there are no more orders. */
    public static void main(String[] arguments) throws Exception {
        var main = new Main();
        var orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            Object answer;
            try {
                answer = main.obey(JSON.readTree(line));
            } catch (Exception error) {
                answer = Map.of("Failed", error.toString());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
        // The peers' threads may not want to end.
        System.exit(0);
    }

    private Object obey(JsonNode order) throws Exception {
        String name = order.isTextual() ? order.asText() : order.fieldNames().next();
        JsonNode told = order.path(name);
        switch (name) {
            case "Open" -> {
                if (system == null) {
                    system = Peers.connect(told.get("system").asText(), told.get("places"));
                }
                // Connected before anything is measured: a lock of its own name, taken once.
                system.lock("warm-" + ProcessHandle.current().pid()).acquire().release();
                lock = system.lock(told.get("name").asText());
                return "Ready";
            }
            case "Contend" -> {
                var waited = crowd(plan(told), 1).get(0);
                return Map.of("Waited", Map.of("waiter", waited, "requests", 0));
            }
            case "Crowd" -> {
                return Map.of("Crowd", crowd(plan(told.get("plan")), told.get("tasks").asInt()));
            }
            case "Acquire" -> {
                held = lock.acquire();
                return Map.of("Granted", System.nanoTime());
            }
            case "Release" -> {
                long called = System.nanoTime();
                held.release();
                return Map.of("Released", Map.of("called", called));
            }
            default -> throw new IllegalArgumentException("not an order: " + name);
        }
    }

    private static Waiter.Plan plan(JsonNode plan) {
        var section = plan.get("section");
        long nanoseconds = TimeUnit.SECONDS.toNanos(section.get("secs").asLong()) + section.get("nanos").asLong();
        return new Waiter.Plan(plan.get("begin").asLong(), plan.get("end").asLong(), nanoseconds);
    }

    /** So many threads wait for the lock in turns. */
    private ArrayList<Waiter.Waited> crowd(Waiter.Plan plan, int size) throws Exception {
        var waiters = new ArrayList<Waiter>();
        var results = new ArrayList<Future<Waiter.Waited>>();
        for (int number = 0; number < size; number++) {
            var waiter = new Waiter(lock, plan);
            waiters.add(waiter);
            results.add(threads.submit(waiter));
        }
        long end = plan.end() + Waiter.GRACE;
        var waited = new ArrayList<Waiter.Waited>();
        for (int number = 0; number < size; number++) {
            while (true) {
                try {
                    waited.add(results.get(number).get(Math.max(end - System.nanoTime(), 1_000_000), TimeUnit.NANOSECONDS));
                    break;
                } catch (java.util.concurrent.TimeoutException late) {
                    // One of these may have asked only just now.
                    waiters.get(number).giveUp();
                }
            }
        }
        return waited;
    }
}
