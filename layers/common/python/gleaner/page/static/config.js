/** What the service says about itself: where its API is, and how people sign in. */
export const base = document.body.dataset.base;

/** `kind` is none, api_key or cognito; for cognito, `poolUrl` and `clientId` are those of the user pool. */
export const signIn = JSON.parse(document.body.dataset.signIn);
