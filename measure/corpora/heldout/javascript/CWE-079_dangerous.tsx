type Props = { comment: { html: string } };

export function Comment({ comment }: Props) {
  return <div className="comment" dangerouslySetInnerHTML={{ __html: comment.html }} />;
}
