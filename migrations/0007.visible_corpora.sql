-- A corpus is known to those who may read one of its documents: the documents' own policy decides in the subquery.
ALTER POLICY tenant ON assistant_corpora
    USING (organisation_id = equerry_organisation()
        AND (equerry_role() IN ('admin', 'indexer')
            OR EXISTS (
                SELECT FROM assistant_documents AS document
                WHERE document.organisation_id = assistant_corpora.organisation_id
                    AND document.corpus_id = assistant_corpora.corpus_id
                    AND document.status <> 'deleted'
            )));
