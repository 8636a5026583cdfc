// Calls functions of the program that uses the client. Their errors must not end the client's own work.

/** A listener's error is thrown later, as an uncaught error, so that the other listeners are still called. */
export function safely(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
