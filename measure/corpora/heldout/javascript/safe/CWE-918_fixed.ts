export async function rates(): Promise<unknown> {
  const answer = await fetch('https://api.example.com/rates', { signal: AbortSignal.timeout(5000) });
  return answer.json();
}
