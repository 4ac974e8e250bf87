package bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * A waiter on a lock, as in {@code src/contend.rs}. Moments are nanoseconds on CLOCK_MONOTONIC, which all processes of
 * one host share: on Linux that is what {@link System#nanoTime} reads.
 */
final class Waiter implements Callable<Waiter.Waited> {
    /** How long waiters may go on waiting after the end. */
    static final long GRACE = 300_000_000;

    private final Lock lock;
    private final Plan plan;
    /** The thread that asks for the lock now. */
    private Thread asking;

    /** When, and how long each holds the lock. */
    record Plan(long begin, long end, long section) {}

    /** One wait for the lock. */
    record Turn(long asked, long granted, long releasing, long released) {}

    /** What the waiter went through. */
    record Waited(List<Turn> turns, long[] unserved) {}

    Waiter(Lock lock, Plan plan) {
        this.lock = lock;
        this.plan = plan;
    }

    @Override
    public Waited call() throws Exception {
        var turns = new ArrayList<Turn>();
        sleep(plan.begin() - System.nanoTime());
        while (true) {
            long asked = System.nanoTime();
            if (asked >= plan.end()) {
                return new Waited(turns, null);
            }
            Lock.Held held;
            try {
                asks(true);
                held = lock.acquire();
                asks(false);
            } catch (Exception error) {
                asks(false);
                if (System.nanoTime() < plan.end() + GRACE) {
                    throw error;
                }
                return new Waited(turns, new long[] {asked, System.nanoTime()});
            }
            long granted = System.nanoTime();
            if (plan.section() == 0 || granted >= plan.end()) {
                Thread.yield();
            } else {
                sleep(plan.section());
            }
            long releasing = System.nanoTime();
            held.release();
            turns.add(new Turn(asked, granted, releasing, System.nanoTime()));
        }
    }

    /** Does not wait any longer, if it waits. */
    synchronized void giveUp() {
        if (asking != null) {
            asking.interrupt();
        }
    }

    /** An interrupt that comes too late is taken back. */
    private synchronized void asks(boolean begins) {
        asking = begins ? Thread.currentThread() : null;
        Thread.interrupted();
    }

    private static void sleep(long nanoseconds) throws InterruptedException {
        if (nanoseconds > 0) {
            Thread.sleep(nanoseconds / 1_000_000, (int) (nanoseconds % 1_000_000));
        }
    }
}
