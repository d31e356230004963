/** The page: what people see first. */
export function App() {
  return (
    <main>
      <h1>__NAME__</h1>
    </main>
  );
}
