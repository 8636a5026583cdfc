// Calls a callback of the program that uses the client. An error of the callback must not end the client's
// own work.

/** The callback's error is thrown later, as an uncaught error, so that other callbacks are still called. */
export function safely(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
