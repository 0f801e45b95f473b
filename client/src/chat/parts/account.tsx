import type { DemoUser } from "../config";

interface Props {
  users: readonly DemoUser[];
  user: DemoUser;
  onSwitch: (user: DemoUser) => void;
}

/** Who is asking, in a demonstration; a product signs its readers in itself. */
export function AccountSwitcher({ users, user, onSwitch }: Props) {
  const initials = user.name
    .split(/\s+/)
    .map((part) => part.charAt(0))
    .slice(0, 2)
    .join("");
  return (
    <label class="account">
      <span class="avatar" aria-hidden="true">
        {initials}
      </span>
      <span class="account-who" aria-hidden="true">
        <strong>{user.name}</strong>
        <span>{user.organisationId}</span>
      </span>
      <select
        data-testid="account"
        aria-label="Asking as"
        value={user.userId}
        onChange={(event) => {
          const chosen = users.find(({ userId }) => userId === event.currentTarget.value);
          if (chosen !== undefined) onSwitch(chosen);
        }}
      >
        {users.map(({ userId, name, organisationId }) => (
          <option key={userId} value={userId}>
            {name}, {organisationId}
          </option>
        ))}
      </select>
    </label>
  );
}
