package dev.metaroce.verbs;

import org.jspecify.annotations.Nullable;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** A bounded queue from the engine thread to any number of application threads, without a lock. */
final class Mailbox<T> {
    /** Points to the next one. */
    private static final class Node<T> extends AtomicReference<@Nullable Node<T>> {
        private static final long serialVersionUID = 1;
        private transient @Nullable T item;

        Node(@Nullable T item) {
            this.item = item;
        }
    }

    private final int capacity;
    private final AtomicInteger size = new AtomicInteger();
    private final AtomicReference<Node<T>> head;
    private Node<T> tail = new Node<>(null);

    Mailbox(int capacity) {
        this.capacity = capacity;
        head = new AtomicReference<>(tail);
    }

    /** Engine thread; false when it is full. */
    boolean offer(T item) {
        if (size.get() >= capacity) {
            return false;
        }
        size.incrementAndGet();
        Node<T> node = new Node<>(item);
        tail.set(node);
        tail = node;
        return true;
    }

    /** Any thread: the oldest item, or null. */
    @Nullable T poll() {
        while (true) {
            Node<T> before = Objects.requireNonNull(head.get());
            Node<T> first = before.get();
            if (first == null) {
                return null;
            }
            if (head.compareAndSet(before, first)) {
                T item = first.item;
                first.item = null;
                size.decrementAndGet();
                return item;
            }
        }
    }

    boolean isEmpty() {
        return Objects.requireNonNull(head.get()).get() == null;
    }
}
