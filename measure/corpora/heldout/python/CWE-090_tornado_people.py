import ldap
import tornado.web


class PeopleHandler(tornado.web.RequestHandler):
    def initialize(self, conn):
        self.conn = conn

    def get(self):
        who = self.get_query_argument("who")
        rows = self.conn.search_st("dc=example,dc=com", ldap.SCOPE_SUBTREE, f"(|(cn={who})(sn={who}))", timeout=5)
        self.write({"people": [dn for dn, _ in rows]})
