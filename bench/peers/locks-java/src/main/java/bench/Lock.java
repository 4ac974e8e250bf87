package bench;

/** A lock that can be acquired again and again, by several threads. */
interface Lock {
    /** Waits until it is ours, or the thread is interrupted. Systems that cannot wait fail when it is not free. */
    Held acquire() throws Exception;

    /** What is given back, by the thread that has it. */
    interface Held {
        /** Gives it back, and returns when the store has it. */
        void release() throws Exception;
    }

    /** The locks of a system, by name. */
    interface System {
        Lock lock(String name);
    }
}
