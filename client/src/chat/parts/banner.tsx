/** The service speaks a newer contract than this page understands. */
export function OutdatedBanner() {
  return (
    <div class="banner" role="alert" data-testid="outdated">
      <p>This page is out of date. Reload it to go on; your conversation is kept.</p>
      <button type="button" onClick={() => location.reload()}>
        Reload
      </button>
    </div>
  );
}
