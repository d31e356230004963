// The API as the page uses it: the only place that calls it.

/** Ask the API; throws an Error with its reason when it refuses. */
export async function request<Answer>(path: string, options: RequestInit = {}): Promise<Answer> {
  const answer = await fetch(`/api${path}`, {
    ...options,
    headers: { "Content-Type": "application/json", ...options.headers },
  });
  if (!answer.ok) {
    throw new Error(`${answer.status} ${answer.statusText}`);
  }
  return (answer.status === 204 ? undefined : await answer.json()) as Answer;
}

/** Whether the API answers. */
export async function health(): Promise<{ status: string }> {
  return request("/health");
}
